import assert from "node:assert/strict";
import { test } from "node:test";
import { runCli } from "../testing/run-cli.ts";
import { startStandInService } from "../testing/stand-in-service.ts";

const event = (number: number) => ({
  id: `evt_1_${number}_1`,
  type: "domain.registered",
  created_at: "2027-04-18T07:45:21.187Z",
  data: { domain_name: `n${number}.example`, order_code: "REG-8F3K2M1Q-7XW" },
});
const link = (after: string) => ({ link: `</v1/events?after=${after}&take=100>; rel="next"` });

test("events list prints a page, and where to continue", async () => {
  await using service = await startStandInService();
  const target = "GET /v1/events?after=evt_1_1_1&types=domain.*%2Corder.failed&take=5";
  service.answers[target] = { status: 200, body: [event(2)], headers: link("evt_1_2_1") };
  const options = ["--after", "evt_1_1_1", "--types", "domain.*,order.failed", "--take", "5"];
  const table = await runCli(service.url, ["events", "list", ...options]);
  assert.equal(table.exitCode, 0, table.stderr);
  assert.match(table.stdout, /domain\.registered +n2\.example REG-8F3K2M1Q-7XW +evt_1_2_1\n/);
  assert.match(table.stderr, /Continue with --after evt_1_2_1/);
  const json = await runCli(service.url, ["events", "list", ...options, "--json"]);
  assert.deepEqual(JSON.parse(json.stdout), [event(2)]);
});

test("events follow goes on from each page until the service refuses", async () => {
  await using service = await startStandInService();
  service.answers["GET /v1/events"] = { status: 200, body: [event(1)], headers: link("evt_1_1_1") };
  service.answers["GET /v1/events?after=evt_1_1_1"] = { status: 200, body: [], headers: link("evt_1_5_0") };
  service.answers["GET /v1/events?after=evt_1_5_0"] = {
    status: 200,
    body: [event(6), event(7)],
    headers: link("evt_1_7_1"),
  };
  service.answers["GET /v1/events?after=evt_1_7_1"] = {
    status: 410,
    body: { error_code: "events_expired", error_text: "Read your lists." },
  };
  const { exitCode, stdout, stderr } = await runCli(service.url, ["events", "follow", "--json"]);
  assert.notEqual(exitCode, 0);
  assert.match(stderr, /events_expired/);
  const printed = stdout.trimEnd().split("\n");
  assert.deepEqual(
    printed.map((line) => JSON.parse(line)),
    [event(1), event(6), event(7)],
  );
  assert.ok(service.seen.every(({ headers }) => headers.prefer === "wait=30"));
});
