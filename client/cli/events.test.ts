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

test("events follow begins now, and goes on from each page until the service refuses", async () => {
  await using service = await startStandInService();
  service.answers["GET /v1/events?after=now"] = { status: 200, body: [event(1)], headers: link("evt_1_1_1") };
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

test("events follow --since begins in the past: at an event, at a time, or so long ago", async () => {
  await using service = await startStandInService();
  const early = { ...event(1), created_at: "2027-04-18T07:44:59.000Z" };
  const time = "2027-04-18T07:45:00.000Z";
  service.answers[`GET /v1/events?after=${encodeURIComponent(time)}`] = {
    status: 200,
    body: [early, event(2)],
    headers: link("evt_1_2_1"),
  };
  const ids = async (since: string) => {
    const { stdout } = await runCli(service.url, ["events", "follow", "--json", "--since", since]);
    return stdout.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line).id]));
  };
  assert.deepEqual(await ids("2027-04-18T09:45:00+02:00"), ["evt_1_2_1"], "what was before the time is left out");
  assert.deepEqual(await ids("evt_1_1_1"), []);
  assert.deepEqual(await ids("2h"), []);
  const asked = service.seen.map(({ target }) => new URLSearchParams(target.split("?")[1]).get("after"));
  assert.deepEqual(asked, [time, "evt_1_2_1", "evt_1_1_1", "2027-01-15T06:00:00.000Z"]);
  const wrong = await runCli(service.url, ["events", "follow", "--since", "yesterday"]);
  assert.equal(wrong.exitCode, 2);
  assert.match(wrong.stderr, /Give a time such as/);
});
