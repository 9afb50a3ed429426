/** Old and new processes side by side: who runs which release, and what keeps a process from a schema. */
import assert from "node:assert/strict";
import { hostname } from "node:os";
import { test } from "node:test";
import { release } from "#lib/release.ts";
import { startApiProcess } from "../harness/api-process.ts";
import { emptyDatabase } from "../harness/database.ts";
import { masterKey, startTestGateway } from "../harness/gateway.ts";
import { runTool } from "../harness/running-system.ts";
import { countSessions, runSql } from "../harness/sql.ts";

/** Runs a command, as the operator of a database. */
const operate = (url: string, ...args: string[]) => runTool(args, { env: { ...process.env, DATABASE_URL: url } });

test("lists each process with its release, until it has stopped", async (t) => {
  const gateway = await startTestGateway(t, { worker: false });
  const url = gateway.databaseUrl;
  const key = { DEEDHOUSE_MASTER_KEY: `1:${masterKey.toString("hex")}` };
  const list = async () => {
    const env = { ...process.env, ...key, DATABASE_URL: url };
    const { code, stdout, stderr } = await runTool(["release", "--json"], { env });
    assert.equal(code, 0, stderr);
    return (JSON.parse(stdout) as Record<string, unknown>[]).map(({ host, role, pid, release, running }) => {
      return { host, role, pid, release, running };
    });
  };
  const api = await startApiProcess(t, gateway);
  const row = { host: hostname(), role: "api", pid: api.pid, release, running: true };
  assert.deepEqual(await list(), [row]);
  assert.ok((await countSessions(url, `deedhouse-api ${release}`)) > 0);
  await api.kill();
  await runSql(url, "UPDATE processes SET seen_at = now() - interval '3 minutes'");
  assert.deepEqual(await list(), [{ ...row, running: false }]);
  await runSql(url, "UPDATE processes SET seen_at = now() - interval '2 days'");
  await api.start();
  assert.deepEqual(await list(), [{ ...row, pid: api.pid }]);
  await api.stop();
  assert.deepEqual(await list(), []);
});

test("a contract is refused while an older release runs, with a message that names it", async (t) => {
  const { databaseUrl: url } = await startTestGateway(t, { worker: false });
  await runSql(
    url,
    "INSERT INTO processes (host, role, pid, release, started_at, seen_at) VALUES ('web-1', 'worker', 17, '0.0.1', now(), now())",
  );
  const { code, stderr } = await operate(url, "migrate", "--contract");
  assert.equal(code, 3);
  assert.match(
    stderr,
    /these run: the worker of release 0\.0\.1 on web-1 \(process 17\), seen \d+ s ago\. Upgrade them to/,
  );
  assert.equal((await operate(url, "migrate")).code, 0);
  await runSql(url, "DELETE FROM processes");
  assert.equal((await operate(url, "migrate", "--contract")).code, 0);
});

test("a process starts on the next release's expands, and neither without its own nor with unknown contracts", async (t) => {
  const { url } = await emptyDatabase(t);
  await operate(url, "migrate");
  const said = async () => {
    const env = { ...process.env, DATABASE_URL: url, DEEDHOUSE_DEPLOYMENT: "sandbox" };
    const { code, stderr } = await runTool(["worker"], { env });
    assert.equal(code, 2);
    return stderr.split("\n").filter((line) => /DATABASE_URL: /.test(line));
  };
  const add = (number: number, level: string) =>
    runSql(
      url,
      `INSERT INTO migrations (number, name, sha256, level) VALUES (${number}, '${number}-later.sql', '', '${level}')`,
    );
  await add(9998, "expand");
  assert.deepEqual(await said(), []);
  await add(9999, "contract");
  assert.match(
    (await said()).join(),
    /DATABASE_URL: The database has applied 9999-later.sql, a contract of a newer release/,
  );
  await runSql(url, "DELETE FROM migrations WHERE number > 1");
  assert.match((await said()).join(), /the database lacks \d+ .*: run deedhouse migrate/);
});
