import assert from "node:assert/strict";
import { test } from "node:test";
import { runCli } from "../testing/run-cli.ts";
import { startStandInService } from "../testing/stand-in-service.ts";

const webhook = {
  id: "wh_5c1f0a9be2d34b7e8a61",
  url: "https://shop.example.com/hook",
  description: "the shop",
  verified: false,
  enabled: true,
  pending: 0,
  created_at: "2027-04-18T07:45:21.187Z",
};
const path = `/v1/webhooks/${webhook.id}`;

test("webhooks create shows the secret once", async () => {
  await using service = await startStandInService();
  service.answers["POST /v1/webhooks"] = [
    { status: 201, body: { ...webhook, secret: "whsec_abc" } },
    { status: 201, body: webhook },
  ];
  const create = ["webhooks", "create", webhook.url, "--types", "domain.*,order.failed", "--description", "the shop"];
  const made = await runCli(service.url, create);
  assert.equal(made.exitCode, 0, made.stderr);
  assert.match(made.stderr, /gets a webhook\.test now/);
  assert.match(made.stdout, /wh_5c1f0a9be2d34b7e8a61 .*\nSecret, shown this once: whsec_abc\n$/);
  const sent = JSON.parse(service.seen[0]!.body);
  assert.deepEqual(sent, { url: webhook.url, types: ["domain.*", "order.failed"], description: "the shop" });
  assert.match((await runCli(service.url, create)).stderr, /The secret was shown before/);
});

test("webhooks update sends what is given, and delete asks first", async () => {
  await using service = await startStandInService();
  service.answers[`PUT ${path}`] = { status: 200, body: webhook };
  service.answers[`GET ${path}`] = { status: 200, body: webhook };
  service.answers[`DELETE ${path}`] = { status: 204 };
  const { exitCode } = await runCli(service.url, ["webhooks", "update", webhook.id, "--enable", "--types", ""]);
  assert.equal(exitCode, 0);
  assert.deepEqual(JSON.parse(service.seen[0]!.body), { types: [], enabled: true });
  const asked = await runCli(service.url, ["webhooks", "delete", webhook.id]);
  assert.equal(asked.exitCode, 2);
  assert.match(asked.stderr, /Use --yes/);
  assert.equal((await runCli(service.url, ["webhooks", "delete", webhook.id, "--yes"])).stdout, "Deleted.\n");
});

test("webhooks deliveries and resend lead from a failure to its repetition", async () => {
  await using service = await startStandInService();
  const delivery = {
    event_id: "evt_1_8142_77",
    type: "domain.left",
    status: "Failed",
    attempts: 9,
    created_at: webhook.created_at,
    answer_status: 500,
    error_text: "It answered 500.",
    event: {},
  };
  service.answers[`GET ${path}/deliveries?status=Failed`] = { status: 200, body: [delivery] };
  service.answers[`POST ${path}/deliveries/evt_1_8142_77/resend`] = { status: 202 };
  const { stdout } = await runCli(service.url, ["webhooks", "deliveries", webhook.id, "--status", "Failed"]);
  assert.match(stdout, /domain\.left +Failed +9 +500 +evt_1_8142_77 +It answered 500\./);
  const resent = await runCli(service.url, ["webhooks", "resend", webhook.id, "evt_1_8142_77"]);
  assert.match(resent.stdout, /^It is being sent: deedhouse webhooks deliveries wh_/);
});
