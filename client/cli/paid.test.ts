import assert from "node:assert/strict";
import { test } from "node:test";
import { runCli } from "../testing/run-cli.ts";
import { accepted, refuse, startStandInService } from "../testing/stand-in-service.ts";

const domain = { domain_name: "example.com", expiration_date: "2027-04-18T07:45:21.187Z", will_renew: true };
const code = "CHG-8F3K2M1Q-7XW";

test("what costs or destroys asks first: without a terminal and --yes it exits with 2 and orders nothing", async () => {
  await using service = await startStandInService();
  service.answers["GET /v1/domains/example.com"] = { status: 200, body: domain };
  for (const command of ["renew", "delete", "restore"]) {
    const { exitCode, stderr } = await runCli(service.url, ["domains", command, "example.com"]);
    assert.equal(exitCode, 2, command);
    assert.match(stderr, /--yes/);
  }
  assert.deepEqual([...new Set(service.seen.map(({ method }) => method))], ["GET"]);
});

test("domains renew renews the term that the domain shows, and waits with --wait", async () => {
  await using service = await startStandInService();
  const location = "/v1/orders/REN-8F3K2M1Q-7XW";
  const renewed = { ...domain, expiration_date: "2029-04-18T07:45:21.187Z" };
  service.answers["GET /v1/domains/example.com"] = [
    { status: 200, body: domain },
    { status: 200, body: renewed },
  ];
  service.answers["POST /v1/domains/example.com/renewals"] = accepted(location, 1);
  const finished = { order_code: "REN-8F3K2M1Q-7XW", kind: "renew", status: "Finished" };
  service.answers[`GET ${location}`] = { status: 200, body: finished };
  const args = ["domains", "renew", "example.com", "--years", "2", "--yes", "--wait", "--json"];
  const { exitCode, stdout, stderr } = await runCli(service.url, args);
  assert.equal(exitCode, 0, stderr);
  assert.deepEqual(JSON.parse(stdout), { ...finished, domain: renewed });
  const ordered = service.seen.find(({ method }) => method === "POST");
  assert.deepEqual(JSON.parse(ordered?.body ?? ""), { years: 2, expiration_date: domain.expiration_date });
});

test("domains delete confirms the name, and shows what can be done afterwards", async () => {
  await using service = await startStandInService();
  service.answers["DELETE /v1/domains/example.com?confirm=example.com"] = accepted(`/v1/orders/${code}`, 1);
  const next = "It can be restored until 2027-01-01T00:00:00.000Z: POST /domains/example.com/restores.";
  service.answers[`GET /v1/orders/${code}`] = { status: 200, body: { order_code: code, status: "Finished", next } };
  const { exitCode, stdout } = await runCli(service.url, ["domains", "delete", "example.com", "--yes", "--wait"]);
  assert.equal(exitCode, 0);
  assert.match(stdout, /can be restored until/);
  assert.match(String(service.seen[0]?.headers["idempotency-key"]), /./);
});

test("domains restore exits with 3 when the name cannot be restored any more", async () => {
  await using service = await startStandInService();
  service.answers["POST /v1/domains/example.com/restores"] = refuse(409, "domain_not_restorable");
  const { exitCode, stderr } = await runCli(service.url, ["domains", "restore", "example.com", "--yes"]);
  assert.equal(exitCode, 3);
  assert.match(stderr, /domain_not_restorable/);
});
