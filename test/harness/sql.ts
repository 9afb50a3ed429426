import assert from "node:assert/strict";
import { Client, type QueryResultRow } from "pg";
import { askedState } from "#db/session.ts";
import { sleep } from "#lib/clock.ts";

/** Runs one piece of SQL on its own connection, and wakes whom it wakes in one of our processes. */
export async function runSql<Row extends QueryResultRow>(
  url: string,
  text: string,
  values?: unknown[],
): Promise<Row[]> {
  const client = new Client({ connectionString: url });
  client.on("error", () => {});
  const asked: [channel: string, payload: string][] = [];
  client.on("notice", ({ code, message = "", detail = "" }) => {
    if (code === askedState) asked.push([message, detail]);
  });
  try {
    await client.connect();
    const { rows } = await client.query<Row>(text, values);
    for (const notification of asked) await client.query("SELECT pg_notify($1, $2)", notification);
    return rows;
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

/** How many commits wait for a synchronous standby. @param beginning of their statements */
export async function countWaitingForStandby(url: string, beginning = ""): Promise<number> {
  const waiting = `SELECT FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event = 'SyncRep' AND starts_with(query, $1)`;
  return (await runSql(url, waiting, [beginning])).length;
}

/** The open sessions in the database of the URL, by the first word of their names. */
export async function countSessionsByName(url: string): Promise<Map<string, number>> {
  const count = `SELECT split_part(application_name, ' ', 1) AS name, count(*)::int AS sessions FROM pg_stat_activity
    WHERE datname = current_database() GROUP BY 1`;
  const rows = await runSql<{ name: string; sessions: number }>(url, count);
  return new Map(rows.map(({ name, sessions }) => [name, sessions]));
}

/** Counts sessions by their names, whenever the server answers. @returns ends it, and says how many there were at once */
export function watchSessions(url: string): () => Promise<Map<string, number>> {
  const most = new Map<string, number>();
  const ended = new AbortController();
  const watching = (async () => {
    while (!ended.signal.aborted) {
      for (const [name, sessions] of await countSessionsByName(url).catch(() => [])) {
        most.set(name, Math.max(most.get(name) ?? 0, sessions));
      }
      await sleep(200, ended.signal);
    }
  })();
  return async () => {
    ended.abort();
    await watching;
    return most;
  };
}
