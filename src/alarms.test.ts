import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { alarmKinds, listAlarms, raiseAlarm, resolveAlarm, resolveAlarmById } from "#alarms.ts";
import { createLog } from "#lib/log.ts";
import { testDatabase } from "../test/harness/database.ts";
import { createManualClock } from "../test/harness/manual-clock.ts";

const alarm = { kind: "order", subject: "REG-00000000-000" } as const;
const startSeconds = 1_893_456_000;
const limit = 10;

test("an open alarm is counted, with its start, and a later one starts from one", async (t) => {
  const { database } = await testDatabase(t);
  const clock = createManualClock(startSeconds);
  const context = { database, clock, log: createLog("test", "silent") };
  await raiseAlarm(context, { ...alarm, note: "first" });
  clock.advance(60_000);
  await raiseAlarm(context, { ...alarm, note: "again" });
  await raiseAlarm(context, { ...alarm, subject: "REG-11111111-111", note: "another" });
  const open = await listAlarms(context, { all: false, limit });
  assert.deepEqual(
    open.map(({ subject, count, note, since, last_at }) => [subject, count, note, since, last_at]),
    [
      ["REG-11111111-111", 1, "another", clock.now(), clock.now()],
      [alarm.subject, 2, "again", new Date(startSeconds * 1_000), clock.now()],
    ],
  );
  assert.equal(await resolveAlarm(context, alarm), true);
  assert.equal(await resolveAlarm(context, alarm), false);
  await raiseAlarm(context, { ...alarm, note: "later" });
  const [later, ...others] = await listAlarms(context, { all: false, limit });
  assert.deepEqual([later?.note, later?.count, others.length], ["later", 1, 1]);
  assert.equal((await listAlarms(context, { all: true, limit })).length, 3);
  assert.equal(await resolveAlarmById(context, later?.id ?? 0), true);
  assert.equal(await resolveAlarmById(context, later?.id ?? 0), false);
});

test("an alarm that is raised in a transaction disappears with its rollback", async (t) => {
  const { database } = await testDatabase(t);
  const context = { database, clock: createManualClock(startSeconds), log: createLog("test", "silent") };
  const undone = database.transaction(async (tx) => {
    await raiseAlarm(context, { ...alarm, note: "undone" }, tx);
    throw new Error("undone");
  });
  await assert.rejects(undone, /undone/);
  assert.deepEqual(await listAlarms(context, { all: true, limit }), []);
});

test("the operator's page explains what to do about every kind of alarm", async () => {
  const page = await readFile(new URL("../docs/operating.md", import.meta.url), "utf8");
  const explained = [...page.matchAll(/^\| `([a-z-]+)` \|/gm)].map(([, kind]) => kind);
  assert.deepEqual(explained.sort(), [...alarmKinds].sort());
});
