import assert from "node:assert/strict";
import { Client, type QueryResultRow } from "pg";
import { sleep } from "#lib/clock.ts";

/** Runs one piece of SQL on its own connection. */
export async function runSql<Row extends QueryResultRow>(
  url: string,
  text: string,
  values?: unknown[],
): Promise<Row[]> {
  const client = new Client({ connectionString: url });
  client.on("error", () => {});
  try {
    await client.connect();
    return (await client.query<Row>(text, values)).rows;
  } finally {
    await client.end();
  }
}

/**
 * Ends the sessions with this name in this database only: all tests share one server, and their programs have the same
 * names.
 */
export async function endSessions(url: string, applicationName: string, state?: "idle"): Promise<void> {
  const end = `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = $1 AND state = coalesce($2, state)`;
  await runSql(url, end, [applicationName, state]);
}

/** The process of a test's own server that writes its log. */
export async function walWriterOf(url: string): Promise<number> {
  const [row] = await runSql<{ pid: number }>(url, "SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'");
  return row!.pid;
}

/** Ends every session of one database, so that it can be copied or renamed. @param adminUrl another database */
export async function endAllSessions(adminUrl: string, database: string): Promise<void> {
  await runSql(adminUrl, "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = $1", [database]);
}

/** How many sessions of the database wait for locks. */
export async function countHeldUp(url: string): Promise<number> {
  const heldUp = "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
  return (await runSql(url, heldUp)).length;
}

/** Resolves when this many sessions of the database wait for locks. */
export async function untilHeldUp(url: string, sessions = 1): Promise<void> {
  while ((await countHeldUp(url)) < sessions) await sleep(10);
}

/**
 * Every row of every table as text, with bytes as hex digits, after its table's name: to check that something is
 * nowhere.
 */
export async function dumpDatabase(url: string): Promise<string> {
  const tables = await runSql<{ name: string }>(
    url,
    `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables
     WHERE schemaname NOT IN ('pg_catalog', 'information_schema')`,
  );
  assert.ok(
    tables.some(({ name }) => name === "public.hosting_accounts"),
    "accounts are among what is dumped",
  );
  const selects = tables.map(({ name }) => `SELECT '${name}: ' || dumped::text AS row FROM ${name} AS dumped`);
  return (await runSql<{ row: string }>(url, selects.join(" UNION ALL "))).map(({ row }) => row).join("\n");
}

/** The open sessions of this name in the database of the URL. */
export async function countSessions(url: string, applicationName: string): Promise<number> {
  const count = `SELECT count(*)::int AS sessions FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = $1`;
  return (await runSql<{ sessions: number }>(url, count, [applicationName]))[0]!.sessions;
}
