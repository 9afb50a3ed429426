import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "pg";
import { requireDatabase } from "#db/check-database.ts";
import { translateError } from "#db/errors.ts";
import { type Appliers, applyAlone, applyInTransaction } from "#db/migration-apply.ts";
import {
  type Applied,
  comparePending,
  type Migration,
  MigrationError,
  type PendingMigrations,
  readMigrations,
  readSqlFiles,
  type SqlFile,
} from "#db/migration-files.ts";
import { sleep } from "#lib/clock.ts";
import { isOlder, release } from "#lib/release.ts";

export interface MigrateOptions {
  /** The folder with `migrations` and `functions`. Default: db/ of this repository. */
  folder?: string;
  /** Applies contracts, too, unless a process of an older release was seen lately. */
  contract?: boolean;
  /** Gets a sentence when something has to be waited for. */
  say?: (sentence: string) => void;
  /** For all attempts to get a table's lock. Default: ten minutes. */
  lockPatienceMs?: number;
}

export interface Migrated {
  functions: string[];
  migrations: string[];
  /** Contracts that wait for `contract`. */
  contracts: string[];
  /** Migrations of a newer release, whose schema stays as it is. */
  newer: string[];
}

/** What a database lacks. */
interface Pending extends PendingMigrations {
  functions: SqlFile[];
  isEmpty: boolean;
}

const defaultFolder = fileURLToPath(new URL("../../db", import.meta.url));

/** An arbitrary number, the same in every version: a migrating process holds this advisory lock. */
const migrationLock = 6_301_120_947;
const lockAgainMs = 200;
const lockPatienceMsDefault = 10 * 60_000;
const connectionTimeoutMs = 5_000;
/** A process writes its row several times in this time. */
const seenMinutes = 2;

/**
 * Brings the database to the schema of this version, as db/README.md says: replaces the functions whose files have changed, then
 * applies each new migration in order. Several processes may call it at once. Where a newer release has migrated, nothing is done.
 * @throws MigrationError when the database belongs to another program, has applied a contract that this version lacks or a
 * migration with other content, or when an older release still runs; UnfitDatabase; DatabaseUnavailable
 */
export async function migrate(url: string, options: MigrateOptions = {}): Promise<Migrated> {
  const { folder = defaultFolder, contract = false, say = () => {}, lockPatienceMs = lockPatienceMsDefault } = options;
  return onDatabase(url, async (client) => {
    await takeTurn(client, say);
    const { functions, expands, contracts, unknown, isEmpty } = await findPending(client, folder);
    if (unknown.length > 0) {
      return { functions: [], migrations: [], contracts: namesOf(contracts), newer: namesOf(unknown) };
    }
    if (contract) await refuseOlder(client);
    // Nothing runs on an empty database, so there each file is applied in its place.
    const all = isEmpty ? [...expands, ...contracts].sort((one, other) => one.number - other.number) : expands;
    const migrations = contract && !isEmpty ? [...all, ...contracts] : all;
    await applyAll({ client, say, lockPatienceMs }, functions, migrations);
    const left = contracts.filter((each) => !migrations.includes(each));
    return { functions: namesOf(functions), migrations: namesOf(migrations), contracts: namesOf(left), newer: [] };
  });
}

/**
 * The names of the files that `migrate` would apply; nothing is changed.
 * @throws as `migrate` does
 */
export async function listPendingFiles(url: string): Promise<string[]> {
  const { functions, expands, unknown } = await onDatabase(url, (client) => findPending(client, defaultFolder));
  return unknown.length > 0 ? [] : namesOf([...expands, ...functions]);
}

/**
 * The expands of this release that the database lacks. A newer release may have replaced functions and added expands, and processes
 * of this one go on there.
 * @throws as `migrate` does
 */
export async function listMissingMigrations(url: string): Promise<string[]> {
  return onDatabase(url, async (client) => namesOf((await readPending(client, defaultFolder)).expands));
}

const namesOf = (files: readonly { name: string }[]) => files.map(({ name }) => name);

async function onDatabase<T>(url: string, work: (client: Client) => Promise<T>): Promise<T> {
  await requireDatabase(url, "migrate");
  const client = new Client({
    connectionString: url,
    application_name: `deedhouse-migrate ${release}`,
    connectionTimeoutMillis: connectionTimeoutMs,
  });
  client.on("error", () => {});
  try {
    await client.connect();
    return await work(client);
  } catch (error) {
    throw translateError(error);
  } finally {
    // Releases the lock as well.
    await client.end();
  }
}

/** Asks again, because an index that another process builds waits for every statement that waits. */
async function takeTurn(client: Client, say: (sentence: string) => void): Promise<void> {
  for (let asked = 0; ; asked++) {
    const { rows } = await client.query<{ mine: boolean }>("SELECT pg_try_advisory_lock($1) AS mine", [migrationLock]);
    if (rows[0]?.mine) return;
    if (asked === 0) say("another process migrates this database: waiting until it has ended");
    await sleep(lockAgainMs);
  }
}

async function findPending(client: Client, folder: string): Promise<Pending> {
  const pending = await readPending(client, folder);
  const known = (await hasTable(client, "applied_functions"))
    ? (await client.query<SqlFile>("SELECT name, sha256 FROM applied_functions")).rows
    : [];
  const hashes = new Map(known.map(({ name, sha256 }) => [name, sha256]));
  const functions = await readSqlFiles(join(folder, "functions"));
  return { ...pending, functions: functions.filter(({ name, sha256 }) => hashes.get(name) !== sha256) };
}

async function readPending(client: Client, folder: string): Promise<PendingMigrations & { isEmpty: boolean }> {
  await refuseForeign(client);
  const history = (await hasTable(client, "migrations")) ? (await client.query<Applied>(selectHistory)).rows : [];
  const migrations = await readMigrations(join(folder, "migrations"));
  return { ...comparePending(migrations, history), isEmpty: history.length === 0 };
}

async function hasTable(client: Client, table: string): Promise<boolean> {
  const { rows } = await client.query<{ has: boolean }>("SELECT to_regclass($1) IS NOT NULL AS has", [table]);
  return rows[0]!.has;
}

/** Another program's DATABASE_URL, left in the environment, must not get our tables. */
async function refuseForeign(client: Client): Promise<void> {
  const { rows } = await client.query<{ is_foreign: boolean }>(
    `SELECT to_regclass('public.migrations') IS NULL
       AND EXISTS (SELECT FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')) AS is_foreign`,
  );
  if (!rows[0]?.is_foreign) return;
  throw new MigrationError("The database contains tables of another program: give Deedhouse an empty database.");
}

/** A database that was made before levels has no such column, and no contracts. */
const selectHistory = `SELECT number, name, sha256, coalesce(to_jsonb(migrations) ->> 'level', 'expand') AS level
  FROM migrations ORDER BY number`;

/** A process of an older release would read or write what a contract removes. @throws MigrationError */
async function refuseOlder(client: Client): Promise<void> {
  if (!(await hasTable(client, "processes"))) return;
  const { rows } = await client.query<{ host: string; role: string; pid: number; release: string; seconds: number }>(
    `SELECT host, role, pid, release, extract(epoch FROM now() - seen_at)::int AS seconds FROM processes
     WHERE seen_at > now() - interval '${seenMinutes} minutes' ORDER BY host, role, pid`,
  );
  const older = rows.filter((each) => isOlder(each.release, release));
  if (older.length === 0) return;
  const list = older.map(
    ({ host, role, pid, release: theirs, seconds }) =>
      `the ${role} of release ${theirs} on ${host} (process ${pid}), seen ${seconds} s ago`,
  );
  throw new MigrationError(
    `A contract removes what older releases use, and these run: ${list.join("; ")}. Upgrade them to ${release} first; one that was killed is forgotten after ${seenMinutes} minutes.`,
  );
}

const createTables = `
  CREATE TABLE IF NOT EXISTS migrations (
    number int PRIMARY KEY,
    name text NOT NULL,
    sha256 text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()
  );
  ALTER TABLE migrations ADD COLUMN IF NOT EXISTS level text NOT NULL DEFAULT 'expand';
  CREATE TABLE IF NOT EXISTS applied_functions (
    name text PRIMARY KEY,
    sha256 text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()
  )`;

/**
 * All or nothing, so that no process runs with functions of one version and tables of another. Only a file that runs alone divides
 * it: what comes before is committed first.
 */
async function applyAll(appliers: Appliers, functions: SqlFile[], migrations: Migration[]): Promise<void> {
  if (functions.length + migrations.length === 0) return;
  let together: Migration[] = [];
  let isFirst = true;
  const applyTogether = async () => {
    if (!isFirst && together.length === 0) return;
    const preparation = isFirst ? createTables : "";
    await applyInTransaction(appliers, { preparation, functions: isFirst ? functions : [], migrations: together });
    isFirst = false;
    together = [];
  };
  for (const migration of migrations) {
    if (!migration.isAlone) together.push(migration);
    else {
      await applyTogether();
      await applyAlone(appliers, migration);
    }
  }
  await applyTogether();
}
