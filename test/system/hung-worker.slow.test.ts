import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually, type RunningSystem, startSystem, systemFolder } from "../harness/running-system.ts";
import { runSql } from "../harness/sql.ts";

interface ListedAlarm {
  kind: string;
  note: string;
}

/** `alarms list --check`, as monitoring runs it. */
async function check(system: RunningSystem): Promise<{ code: number | null; kinds: string[]; notes: string }> {
  const { code, stdout } = await system.tool([
    "alarms",
    "list",
    "--check",
    "--json",
    "--data",
    `${system.folder}/data`,
  ]);
  const alarms = JSON.parse(stdout) as ListedAlarm[];
  return { code, kinds: alarms.map(({ kind }) => kind).sort(), notes: alarms.map(({ note }) => note).join("\n") };
}

test("a hung worker without another one is an alarm that names its process, until it continues", async (t) => {
  const system = await startSystem(await systemFolder(t));
  const { database_url: databaseUrl, pids } = system.ready();
  const beats = () => runSql(databaseUrl, "SELECT FROM workers");
  await eventually("the worker has sent a heartbeat", async () => (await beats()).length === 1);
  assert.deepEqual(await check(system), { code: 0, kinds: [], notes: "" });
  process.kill(pids.worker!, "SIGSTOP");
  // As if it had been paused for two minutes.
  await runSql(databaseUrl, "UPDATE workers SET seen_at = now() - interval '2 minutes'");
  const hung = await check(system);
  assert.equal(hung.code, 1);
  assert.deepEqual(hung.kinds, ["no-worker", "worker-stuck"]);
  assert.match(hung.notes, new RegExp(`process ${pids.worker} on .* has done nothing since`));
  process.kill(pids.worker!, "SIGCONT");
  await eventually("nothing is wrong any more", async () => (await check(system)).code === 0);
});
