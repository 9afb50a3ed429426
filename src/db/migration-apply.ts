/** How files are applied: together in a transaction that never makes others wait for long, or an index without one. */
import type { Client } from "pg";
import { type Migration, MigrationError, type SqlFile, statementsOf } from "#db/migration-files.ts";
import { backoffMs } from "#lib/backoff.ts";
import { sleep, systemClock } from "#lib/clock.ts";
import { systemRandom } from "#lib/random.ts";

export interface Appliers {
  client: Client;
  say: (sentence: string) => void;
  lockPatienceMs: number;
}

interface Together {
  /** SQL before everything else. */
  preparation: string;
  functions: SqlFile[];
  migrations: Migration[];
}

/** For one attempt to get the locks of all tables. */
const attemptMs = 2_000;
/**
 * While a migration waits for a table, every later statement on that table waits behind it, and a request waits for 250 ms before
 * it is refused (src/build-context.ts). So an attempt waits in short turns, and lets the others pass after each of them.
 */
const turnMs = 100;
const afterTurnMs = 100;
const pause = { firstMs: 1_000, maxMs: 10_000 };
/** PostgreSQL's lock_not_available and deadlock_detected. */
const busyCodes: ReadonlySet<unknown> = new Set(["55P03", "40P01"]);

/** A file needed a lock that others hold. */
class TableBusy extends Error {
  readonly file: string;

  constructor(file: string, cause: unknown) {
    super(`${file} waits for a table`, { cause });
    this.file = file;
  }
}

/** All or nothing. @throws MigrationError */
export async function applyInTransaction(appliers: Appliers, together: Together): Promise<void> {
  const { client, say, lockPatienceMs } = appliers;
  const startedMs = systemClock.monotonicMs();
  for (let attempt = 1; ; attempt++) {
    try {
      return await applyInTurns(client, together);
    } catch (error) {
      if (!(error instanceof TableBusy)) throw error;
      const waitedMs = systemClock.monotonicMs() - startedMs;
      if (waitedMs >= lockPatienceMs) {
        throw new MigrationError(
          `${error.file} failed and changed nothing: in ${Math.round(waitedMs / 1000)} s, it did not get the lock of a table. pg_stat_activity shows which transaction stays open; end it, and migrate again.`,
          { cause: error.cause },
        );
      }
      const againMs = backoffMs(attempt, pause, systemRandom);
      say(`${error.file} waits for a table that others use: attempt ${attempt + 1} in ${Math.ceil(againMs / 1000)} s`);
      await sleep(againMs);
    }
  }
}

/** @throws TableBusy when nothing is left of the attempt */
async function applyInTurns(client: Client, together: Together): Promise<void> {
  const deadlineMs = systemClock.monotonicMs() + attemptMs;
  for (;;) {
    try {
      return await applyOnce(client, together);
    } catch (error) {
      if (!(error instanceof TableBusy)) throw error;
      await client.query("ROLLBACK");
      if (systemClock.monotonicMs() >= deadlineMs) throw error;
      await sleep(afterTurnMs);
    }
  }
}

async function applyOnce(client: Client, { preparation, functions, migrations }: Together): Promise<void> {
  await client.query("BEGIN");
  await client.query(`SET LOCAL lock_timeout = ${attemptMs}`);
  for (const migration of migrations) await claimTables(client, migration);
  await client.query(`SET LOCAL lock_timeout = ${turnMs}`);
  await apply(client, { name: "the list of migrations", sql: preparation });
  // A function may need a table that one of the migrations creates.
  await client.query("SET LOCAL check_function_bodies = off");
  for (const file of functions) {
    await apply(client, file);
    await client.query(
      `INSERT INTO applied_functions (name, sha256) VALUES ($1, $2)
       ON CONFLICT (name) DO UPDATE SET sha256 = excluded.sha256, applied_at = now()`,
      [file.name, file.sha256],
    );
  }
  await client.query("RESET check_function_bodies");
  for (const migration of migrations) {
    await apply(client, migration);
    await record(client, migration);
  }
  await client.query("COMMIT");
}

const changedTable = /\bALTER TABLE (?:ONLY )?(\w+)|\bCREATE (?:CONSTRAINT )?TRIGGER \w+ .*?\bON (\w+)/g;

/**
 * What keeps a migration from a table and no read or write, a vacuum above all, is waited for with a lock behind which reads and
 * writes pass. PostgreSQL ends an automatic vacuum that such a lock waits for, but only after a second (deadlock_timeout).
 */
async function claimTables(client: Client, { name, sql }: Migration): Promise<void> {
  const changed = [...statementsOf(sql).matchAll(changedTable)].map(([, altered, triggered]) => altered ?? triggered);
  for (const table of new Set(changed)) {
    const { rows } = await client.query("SELECT FROM pg_class WHERE oid = to_regclass($1)", [table]);
    if (rows.length > 0) await apply(client, { name, sql: `LOCK TABLE ${table} IN SHARE UPDATE EXCLUSIVE MODE` });
  }
}

/**
 * Nobody waits behind such a statement, so it may wait for others as long as it needs to. If it is interrupted, it runs again.
 * @throws MigrationError
 */
export async function applyAlone(appliers: Appliers, migration: Migration): Promise<void> {
  const { client, say } = appliers;
  say(`${migration.name} works beside everything else, and may take long`);
  if (migration.index === undefined || !(await isBuilt(appliers, migration, migration.index))) {
    await apply(client, migration);
  }
  await record(client, migration);
}

/**
 * Whether a process that was killed has built the index and not recorded it. A build that was interrupted leaves an index that is
 * invalid, which PostgreSQL keeps up to date and never uses: it is dropped.
 */
async function isBuilt({ client, say }: Appliers, { name }: Migration, index: string): Promise<boolean> {
  const { rows } = await client.query<{ is_valid: boolean }>(
    "SELECT indisvalid AS is_valid FROM pg_index WHERE indexrelid = to_regclass($1)",
    [index],
  );
  if (rows[0]?.is_valid !== false) return rows.length > 0;
  say(`${name}: the index ${index} is invalid, because its build was interrupted; it is dropped, and built again`);
  await apply(client, { name, sql: `DROP INDEX CONCURRENTLY ${index}` });
  return false;
}

async function record(client: Client, { number, name, sha256, level }: Migration): Promise<void> {
  await client.query("INSERT INTO migrations (number, name, sha256, level) VALUES ($1, $2, $3, $4)", [
    number,
    name,
    sha256,
    level,
  ]);
}

async function apply(client: Client, { name, sql }: Pick<SqlFile, "name" | "sql">): Promise<void> {
  try {
    await client.query(sql);
  } catch (error) {
    if (busyCodes.has((error as { code?: unknown }).code)) throw new TableBusy(name, error);
    throw new MigrationError(`${name} failed and changed nothing: ${(error as Error).message}`, { cause: error });
  }
}
