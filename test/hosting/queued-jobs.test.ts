/** The migration from the queue to rows that are due: no queued job is lost, and releases that know only the queue still work. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { migrate } from "#db/migrate.ts";
import { runSql } from "../harness/sql.ts";
import { olderAccounts } from "./older-accounts.ts";

/** @returns a database of the last schema in which hosting had jobs in the queue */
async function databaseWithQueue(t: TestContext): Promise<string> {
  const url = await olderAccounts(t, "0026", "status, wanted_version, applied_version, next_step_at", [
    "('new.example', 'Provisioning', 1, 0, NULL)",
    "('waits.example', 'Ready', 2, 1, now() + interval '4 minutes')",
    "('changed.example', 'Ready', 3, 2, NULL)",
    "('lost.example', 'Ready', 2, 1, NULL)",
    "('repaired.example', 'Ready', 1, 1, NULL)",
    "('rests.example', 'Ready', 1, 1, NULL)",
    "('failed.example', 'Failed', 1, 1, now())",
  ]);
  await runSql(
    url,
    `SELECT call_job('provision', json_build_object('accountId', id), 'account:' || id) FROM hosting_accounts
       WHERE identifier IN ('new.example', 'changed.example', 'repaired.example');
     SELECT call_job('provision', json_build_object('accountId', id), 'account:' || id, 240000, 0, 'preserve_run_at')
       FROM hosting_accounts WHERE identifier = 'waits.example';
     INSERT INTO hosting_nodes (id, kind, ftp_host, ftp_port, web_host, web_port, capacity_bytes, accounts_max, created_at, updated_at)
       SELECT id, 'embedded', 'localhost', 1, 'localhost', 1, 1, 1, now(), now() FROM unnest('{one,two}'::text[]) AS id;
     INSERT INTO hosting_moves (account_id, state, source_node_id, source_uid, target_node_id, reserved_bytes, grace_seconds,
         next_step_at, ended_at, created_at, updated_at)
       SELECT id, state, 'one', 1, 'two', 1, 7200, at, ended_at, now(), now() FROM hosting_accounts JOIN (VALUES
         ('rests.example', 'Copying', NULL, NULL), ('changed.example', 'Leaving', now() + interval '1 hour', NULL),
         ('lost.example', 'Moved', NULL, now())) AS move (identifier, state, at, ended_at) USING (identifier);
     INSERT INTO host_names (account_id, host_name, status, created_at, next_check_at)
       SELECT id, 'www.' || identifier, 'Waiting', now(), now() + interval '5 hours' FROM hosting_accounts
       WHERE identifier IN ('rests.example', 'new.example');
     SELECT host_names_look(array_agg(id)) FROM host_names WHERE host_name = 'www.rests.example';
     INSERT INTO hosting_reconciles (node_id, wanted_at, repairs, removes_strays, done_at)
       VALUES ('one', now(), true, false, NULL), ('two', now(), true, false, now())`,
  );
  return url;
}

const accountsOf = async (url: string, condition: string) =>
  (
    await runSql<{ identifier: string }>(
      url,
      `SELECT identifier FROM hosting_accounts WHERE ${condition} ORDER BY identifier`,
    )
  ).map(({ identifier }) => identifier);

test("rows with queued jobs are due, rows that wait for a time still wait, and lost jobs are found", async (t) => {
  const url = await databaseWithQueue(t);
  await migrate(url);
  assert.deepEqual(await accountsOf(url, "next_step_at <= now()"), [
    "changed.example",
    "lost.example",
    "new.example",
    "repaired.example",
  ]);
  assert.deepEqual(await accountsOf(url, "next_step_at > now() + interval '3 minutes'"), ["waits.example"]);
  assert.deepEqual(await accountsOf(url, "next_step_at IS NULL"), ["failed.example", "rests.example"]);
  const moves = `SELECT state, next_step_at <= now() AS is_due FROM hosting_moves ORDER BY state`;
  assert.deepEqual(await runSql(url, moves), [
    { state: "Copying", is_due: true },
    { state: "Leaving", is_due: false },
    { state: "Moved", is_due: null },
  ]);
  const names = "SELECT host_name, next_step_at <= now() AS is_due FROM host_names ORDER BY host_name";
  assert.deepEqual(await runSql(url, names), [
    { host_name: "www.new.example", is_due: false },
    { host_name: "www.rests.example", is_due: true },
  ]);
  const reconciles = "SELECT node_id, next_step_at <= now() AS is_due FROM hosting_reconciles ORDER BY node_id";
  assert.deepEqual(await runSql(url, reconciles), [
    { node_id: "one", is_due: true },
    { node_id: "two", is_due: null },
  ]);
  const chores = "SELECT name, next_step_at <= now() AS is_due FROM chores ORDER BY name";
  assert.deepEqual(await runSql(url, chores), [
    { name: "bare-names", is_due: null },
    { name: "housekeeping", is_due: true },
    { name: "reconciles", is_due: false },
  ]);
});

test("rows and jobs that an earlier release writes are due for this one", async (t) => {
  const url = await databaseWithQueue(t);
  await migrate(url);
  await runSql(url, "UPDATE hosting_accounts SET applied_version = wanted_version, next_step_at = NULL");
  const due = "next_step_at <= clock_timestamp()";
  assert.deepEqual(await accountsOf(url, due), []);
  // A change, which enqueues its job.
  const change = (identifier: string) =>
    `UPDATE hosting_accounts SET wanted_version = wanted_version + 1, next_step_at = NULL, updated_at = clock_timestamp()
     WHERE identifier = '${identifier}'`;
  await runSql(url, change("rests.example"));
  assert.deepEqual(await accountsOf(url, due), ["rests.example"]);
  // A worker that is killed after it has chosen the node.
  await runSql(
    url,
    "UPDATE hosting_accounts SET node_id = 'one', next_step_at = NULL WHERE identifier = 'rests.example'",
  );
  assert.deepEqual(await accountsOf(url, due), ["rests.example"]);
  // A job for an account without a pending change.
  const call = `SELECT call_job('provision', json_build_object('accountId', id), 'account:' || id) FROM hosting_accounts
    WHERE identifier IN ('waits.example', 'failed.example')`;
  await runSql(url, call);
  assert.deepEqual(await accountsOf(url, due), ["rests.example", "waits.example"]);
  const [versions] = await runSql<{ all_counted: boolean }>(
    url,
    "SELECT bool_and(version > 0) AS all_counted FROM hosting_accounts WHERE identifier IN ('rests.example', 'waits.example')",
  );
  assert.equal(versions?.all_counted, true);
});
