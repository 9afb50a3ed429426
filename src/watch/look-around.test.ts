import assert from "node:assert/strict";
import { test } from "node:test";
import { listAlarms } from "#alarms.ts";
import { sleep } from "#lib/clock.ts";
import { createLog } from "#lib/log.ts";
import { processName } from "#locks/process-name.ts";
import { startRowLocks } from "#locks/row-locks.ts";
import { startHeartbeat } from "#watch/heartbeat.ts";
import { lookAround } from "#watch/look-around.ts";
import { type TestDatabase, testDatabase } from "../../test/harness/database.ts";
import { createManualClock } from "../../test/harness/manual-clock.ts";
import { runSql } from "../../test/harness/sql.ts";

const startSeconds = 1_893_456_000;

function contextOn({ database }: TestDatabase) {
  return { database, clock: createManualClock(startSeconds), log: createLog("test", "silent") };
}

/** The open alarms after a look, as "kind subject". */
async function look(context: ReturnType<typeof contextOn>): Promise<string[]> {
  await lookAround(context);
  const open = await listAlarms(context, { all: false, limit: 10 });
  return open.map(({ kind, subject }) => `${kind} ${subject}`);
}

test("raises an alarm when the last worker has been silent for a minute, and resolves it when one is running", async (t) => {
  const made = await testDatabase(t);
  const context = contextOn(made);
  assert.deepEqual(await look(context), [], "where no worker has ever run");
  const heartbeat = startHeartbeat(context, "process 1 on here");
  await heartbeat.close();
  assert.deepEqual(await look(context), [], "a moment after the worker has stopped");
  await runSql(made.url, "UPDATE workers SET seen_at = now() - interval '2 minutes'");
  assert.deepEqual(await look(context), ["no-worker workers"]);
  assert.deepEqual(await look(contextOn(made)), ["no-worker workers"], "after a restart");
  const [alarm] = await listAlarms(context, { all: false, limit: 10 });
  assert.equal(alarm?.count, 2, "it is the same alarm");
  await startHeartbeat(context, "process 2 on here").close();
  assert.deepEqual(await look(context), []);
});

test("raises an alarm for a worker that hangs, and names its steps in progress", async (t) => {
  const made = await testDatabase(t);
  const context = contextOn(made);
  const steps = Array.from({ length: 5 }, (_, row) => ({
    machine: "hosting-moves",
    row,
    since: new Date(Date.UTC(2030, 0, 1, 0, 0, row)),
  }));
  const locks = startRowLocks({ log: context.log, databaseUrl: made.url });
  t.after(() => locks.close());
  const heartbeat = startHeartbeat(context, processName, () => steps);
  t.after(() => heartbeat.close());
  await until(async () => (await locks.take(1, ["a row"])) !== undefined);
  const hang = "UPDATE workers SET seen_at = now() - interval '2 minutes' RETURNING worker";
  await until(async () => (await runSql(made.url, hang)).length === 1);
  assert.ok((await look(context)).includes(`worker-stuck ${processName}`));
  const alarm = (await listAlarms(context, { all: false, limit: 10 })).find(({ kind }) => kind === "worker-stuck");
  assert.match(
    alarm?.note ?? "",
    /was working on hosting-moves 0 since 2030-01-01T00:00:00.000Z, hosting-moves 1 since .*, and 2 more$/,
  );
});

async function until(isTrue: () => Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await sleep(10);
}

test("raises an alarm for a registry whose lease nobody has taken, and resolves it when somebody does", async (t) => {
  const made = await testDatabase(t);
  const context = contextOn(made);
  const endedAgo = (interval: string) =>
    runSql(made.url, `UPDATE registry_leases SET expires_at = now() - interval '${interval}'`);
  await runSql(
    made.url,
    `INSERT INTO registry_leases (registry_id, epoch, holder, since, expires_at, lock_pid, lock_started_at)
     VALUES ('sandbox', 1, 'process 1 on here', now(), now() + interval '10 seconds', 1, now())`,
  );
  assert.deepEqual(await look(context), [], "while somebody has it");
  await endedAgo("20 seconds");
  assert.deepEqual(await look(context), [], "while a successor may still come");
  await endedAgo("2 minutes");
  assert.deepEqual(await look(context), ["registry-unowned sandbox"]);
  await endedAgo("2 days");
  assert.deepEqual(await look(context), [], "a registry that was given up, with nothing at stake");
  await endedAgo("2 minutes");
  assert.deepEqual(await look(context), ["registry-unowned sandbox"]);
  await endedAgo("-10 seconds");
  assert.deepEqual(await look(context), []);
});

test("raises an alarm when work is due and nobody does it, and resolves it when it is done", async (t) => {
  const made = await testDatabase(t);
  const context = contextOn(made);
  await runSql(
    made.url,
    `SET session_replication_role = replica;
     INSERT INTO hosting_accounts (identifier, reseller_id, servicepack_id, password_hash_sealed, disk_quota_bytes, files_max,
         ftp_sessions_max, status, created_at, updated_at, wanted_at, next_step_at)
       SELECT 'a.example', 1, 1, '', 1, 1, 1, 'Provisioning', at, at, at, at + interval '1 minute'
       FROM to_timestamp(${startSeconds}) AS at`,
  );
  context.clock.advance(9 * 60_000);
  assert.deepEqual(await look(context), [], "eight minutes after it was due");
  context.clock.advance(5 * 60_000);
  assert.deepEqual(await look(context), ["work-overdue hosting accounts"]);
  await runSql(made.url, "UPDATE hosting_accounts SET applied_version = wanted_version, next_step_at = NULL");
  assert.deepEqual(await look(context), []);
});
