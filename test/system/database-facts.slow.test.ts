/** What the api and the worker demand of their database, with PostgreSQLs that lack it. */
import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, type TestContext, test } from "node:test";
import { listAlarms } from "#alarms.ts";
import { checkDatabase } from "#db/check-database.ts";
import { createDatabase } from "#db/database.ts";
import type { Demands } from "#db/facts.ts";
import { migrate } from "#db/migrate.ts";
import { statement } from "#db/statement.ts";
import { createLog } from "#lib/log.ts";
import { createDatabaseWatch } from "#watch/database.ts";
import { createManualClock } from "../harness/manual-clock.ts";
import { runTool, systemFolder } from "../harness/running-system.ts";
import { runSql } from "../harness/sql.ts";
import { failOver, startOwnServer, startStandby } from "../harness/standby.ts";

const folder = await systemFolder({ after });
const registries = join(folder, "registries.json");
await mkdir(join(folder, "replay"));
await writeFile(registries, "[]", { mode: 0o600 });
const log = createLog("test", "silent");
const needed: Demands = { durability: "needed", synchronous: false };
const one = statement("test-one", "SELECT 1 AS one", { one: "int4" });

/** The role in production ends at once: its standard error. */
async function refusedRole(role: string, databaseUrl: string): Promise<string> {
  const env = {
    ...process.env,
    DATABASE_URL: databaseUrl,
    DEEDHOUSE_MASTER_KEY: `1:${"5a".repeat(31)}00`,
    DEEDHOUSE_REPLAY_DIR: join(folder, "replay"),
    DEEDHOUSE_REGISTRIES_FILE: registries,
    DEEDHOUSE_SITE_DOMAIN: "sites.example",
    DEEDHOUSE_LOG_LEVEL: "silent",
  };
  const { code, stderr } = await runTool([role], { env });
  assert.equal(code, 2);
  return stderr;
}

function watch(t: TestContext, url: string, databaseDemands: Demands) {
  const clock = createManualClock(1_893_456_000);
  const database = createDatabase({ url, transactionsMax: 2, applicationName: "test", demands: databaseDemands, log });
  t.after(() => database.close());
  const context = { database, clock, log };
  const open = async () => (await listAlarms(context, { all: false, limit: 10 })).map(({ kind }) => kind);
  return { clock, database, open, ...createDatabaseWatch(context, { url, demands: databaseDemands, role: "test" }) };
}

test("a database that would lose acknowledged orders is refused in production, all reasons at once", async (t) => {
  const { url } = await startOwnServer(t, { full_page_writes: "off" });
  await runSql(url, "ALTER ROLE deedhouse SET synchronous_commit = local");
  const off = (name: string) =>
    `  The database server runs with ${name} = off, so a crash can destroy the database: set it to on in postgresql.conf, and reload PostgreSQL.\n`;
  const lost =
    "  synchronous_commit is local in our sessions, so a crash or a failover loses orders that were acknowledged: set it to on, for our role and our database too, or set DEEDHOUSE_ALLOW_LOST_COMMITS=1 if that loss is acceptable.\n";
  for (const role of ["api", "worker"]) {
    const list = `${off("fsync")}${off("full_page_writes")}${lost}`;
    assert.equal(await refusedRole(role, url), `deedhouse: these settings are wrong or unsafe:\n${list}`);
  }
  const { findings } = await checkDatabase(url, "test");
  assert.deepEqual(findings, [], "an operator's command works");
});

test("commits that may be lost are an alarm as long as that is allowed", async (t) => {
  const { url } = await startOwnServer(t, { fsync: "on" });
  await migrate(url);
  await runSql(url, "ALTER ROLE deedhouse SET synchronous_commit = off");
  const { start, look, open } = watch(t, url, { ...needed, durability: "waived" });
  await start();
  assert.deepEqual(await open(), ["lost-commits-allowed"]);
  await runSql(url, "ALTER ROLE deedhouse RESET synchronous_commit");
  await look();
  assert.deepEqual(await open(), []);
});

test("a setting that becomes unsafe refuses new connections, and at the next look all; then everything goes on", async (t) => {
  const { url } = await startOwnServer(t, { fsync: "on" });
  await migrate(url);
  const { database, start, look } = watch(t, url, needed);
  await start();
  assert.deepEqual(await database.query(one, {}), [{ one: 1 }]);
  assert.deepEqual(await database.point(one, {}), [{ one: 1 }]);
  await runSql(url, "ALTER ROLE deedhouse SET default_transaction_read_only = on");
  const other = createDatabase({ url, transactionsMax: 1, applicationName: "test", demands: needed, log });
  t.after(() => other.close());
  const sentence =
    "The database takes no writes: set default_transaction_read_only to off, for our role and our database too.";
  await assert.rejects(other.query(one, {}), { message: sentence });
  await assert.rejects(other.point(one, {}), { message: sentence });
  await look();
  await assert.rejects(database.query(one, {}), { message: sentence });
  await assert.rejects(database.point(one, {}), { message: sentence });
  await runSql(url, "BEGIN READ WRITE; ALTER ROLE deedhouse RESET default_transaction_read_only; COMMIT");
  await look();
  for (const { query, point } of [database, other]) {
    assert.deepEqual(await query(one, {}), [{ one: 1 }]);
    assert.deepEqual(await point(one, {}), [{ one: 1 }]);
  }
});

test("a database with another encoding gets no schema", async (t) => {
  const { url } = await startOwnServer(t);
  await runSql(url, "CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0");
  const latin = Object.assign(new URL(url), { pathname: "/latin" }).href;
  await assert.rejects(migrate(latin), {
    message:
      "The database has the encoding LATIN1, and Deedhouse needs UTF8: create one with ENCODING 'UTF8' TEMPLATE template0, and set DATABASE_URL to it.",
  });
});

test("a standby is refused until it is promoted, and then shows the cluster's next timeline", async (t) => {
  const primary = await startOwnServer(t);
  await migrate(primary.url);
  const before = await checkDatabase(primary.url, "test");
  const standby = await startStandby(t, primary);
  const database = createDatabase({ url: standby.url, transactionsMax: 1, applicationName: "test", log });
  t.after(() => database.close());
  const sentence = "The database server is a standby: let DATABASE_URL lead to the primary, or promote this server.";
  await assert.rejects(database.query(one, {}), { message: sentence });
  await failOver(primary, standby);
  assert.deepEqual(await database.query(one, {}), [{ one: 1 }]);
  const { facts } = await checkDatabase(standby.url, "test");
  const { systemIdentifier, timeline } = before.facts;
  assert.deepEqual([facts.systemIdentifier, facts.timeline], [systemIdentifier, timeline + 1]);
});

test("a synchronous standby that is away for a minute is an alarm, and its return resolves it", async (t) => {
  const primary = await startOwnServer(t, { fsync: "on" });
  await migrate(primary.url);
  const { clock, start, look, open } = watch(t, primary.url, { ...needed, synchronous: true });
  await start();
  assert.deepEqual(await open(), [], "it may be starting");
  clock.advance(60_000);
  await look();
  assert.deepEqual(await open(), ["database-not-synchronous"]);
  await startStandby(t, primary);
  await runSql(primary.url, "ALTER SYSTEM SET synchronous_standby_names = '*'");
  await runSql(primary.url, "SELECT pg_reload_conf()");
  while ((await open()).length > 0) await look();
  await runSql(primary.url, "CREATE ROLE plain LOGIN PASSWORD 'plain'");
  const plain = Object.assign(new URL(primary.url), { username: "plain", password: "plain" }).href;
  assert.equal((await checkDatabase(plain, "test")).facts.synchronousStandbys, null);
  await runSql(primary.url, "GRANT pg_monitor TO plain");
  assert.equal((await checkDatabase(plain, "test")).facts.synchronousStandbys, 1);
});
