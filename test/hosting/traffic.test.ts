import assert from "node:assert/strict";
import { after, test } from "node:test";
import { listAlarms } from "#alarms.ts";
import { endTrafficAlarms } from "#hosting/traffic-alarms.ts";
import { saveUsage } from "#hosting/usage.ts";
import { systemClock, unixSeconds } from "#lib/clock.ts";
import { createManualClock } from "../harness/manual-clock.ts";
import { runSql } from "../harness/sql.ts";
import { type Account, startHostingStage } from "./stage.ts";

const clock = createManualClock(unixSeconds(systemClock));
const stage = await startHostingStage({ after }, { clock, worker: false });
const { gateway } = stage;
const { context } = gateway;
const month = clock.now().toISOString().slice(0, 7);
await runSql(gateway.databaseUrl, "UPDATE service_packs SET traffic_bytes_month = 1000");

const read = async (identifier: string) =>
  (await stage.read(identifier)) as Account & { traffic_bytes_month: number; traffic_used_bytes?: number };
const alarmsOf = async (identifier: string) =>
  (await listAlarms(context, { all: false, limit: 100 })).filter(({ subject }) => subject === identifier);

/** A node's report of an account without usage. */
async function tell(identifier: string, uid: number, bytes: number, nodeId = "embedded", at = month): Promise<void> {
  await saveUsage(context, nodeId, [{ identifier, uid, bytes: 0, files: 0, traffic: { month: at, bytes } }]);
}

test("an account shows its site's traffic of this month on all its nodes, and its limit", async () => {
  const id = await stage.create("busy.example");
  await stage.advance(id);
  const { uid } = await stage.inside(id);
  assert.equal((await read("busy.example")).traffic_used_bytes, undefined, "as long as nobody has counted");
  await tell("busy.example", uid, 300);
  await tell("busy.example", uid, 250);
  await tell("busy.example", uid, 100, "another");
  await tell("busy.example", uid, 5_000, "embedded", "2020-01");
  const { traffic_used_bytes, traffic_bytes_month } = await read("busy.example");
  assert.deepEqual(
    { traffic_used_bytes, traffic_bytes_month },
    { traffic_used_bytes: 400, traffic_bytes_month: 1_000 },
  );
  assert.deepEqual(await alarmsOf("busy.example"), []);
});

test("traffic from before a move counts when the site returns to the node in the same month", async () => {
  const identifier = "returns.example";
  const id = await stage.create(identifier);
  await stage.advance(id);
  await tell(identifier, (await stage.inside(id)).uid, 300);
  // As after a move to another node and back: its traffic is counted from 0, under another uid.
  await runSql(gateway.databaseUrl, "UPDATE hosting_accounts SET uid = nextval('hosting_uid') WHERE id = $1", [id]);
  const { uid } = await stage.inside(id);
  for (const bytes of [0, 50, 40, 70]) await tell(identifier, uid, bytes);
  assert.equal((await read(identifier)).traffic_used_bytes, 370);
});

test("the alarm is raised at 80 % and again at 100 % until the month ends, and the site stays online", async () => {
  const identifier = "popular.example";
  const id = await stage.create(identifier);
  await stage.advance(id);
  const { uid } = await stage.inside(id);
  await tell(identifier, uid, 799);
  assert.deepEqual(await alarmsOf(identifier), []);
  for (const bytes of [800, 900]) await tell(identifier, uid, bytes);
  const [warned, ...others] = await alarmsOf(identifier);
  assert.deepEqual([warned?.kind, warned?.count, others], ["hosting-traffic", 1, []]);
  assert.match(warned?.note ?? "", /80 % or more/);
  for (const bytes of [1_000, 2_000]) await tell(identifier, uid, bytes);
  const [full] = await alarmsOf(identifier);
  assert.deepEqual([full?.id, full?.count], [warned?.id, 2]);
  assert.match(full?.note ?? "", /100 % or more/);
  assert.equal((await read(identifier)).status, "Ready");

  await endTrafficAlarms(context);
  assert.equal((await alarmsOf(identifier)).length, 1);
  clock.advance(31 * 24 * 60 * 60_000);
  await endTrafficAlarms(context);
  assert.deepEqual(await alarmsOf(identifier), []);
});

test("an account whose pack has no traffic limit raises no alarm", async () => {
  await runSql(gateway.databaseUrl, "UPDATE service_packs SET traffic_bytes_month = 0");
  const id = await stage.create("free.example");
  await stage.advance(id);
  await tell("free.example", (await stage.inside(id)).uid, 10 ** 12, "embedded", clock.now().toISOString().slice(0, 7));
  assert.deepEqual(await alarmsOf("free.example"), []);
});
