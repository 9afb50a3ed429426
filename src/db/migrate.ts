import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "pg";
import { requireDatabase } from "#db/check-database.ts";
import { translateError } from "#db/errors.ts";
import { earlierFormat } from "#lib/earlier-format.ts";

export interface MigrateOptions {
  /** The folder with `migrations` and `functions`. Default: db/ of this repository. */
  folder?: string;
}

/** The database does not match this version's files; the message says what to do. */
export class MigrationError extends Error {
  override readonly name = "MigrationError";
}

interface SqlFile {
  /** The file's name. */
  name: string;
  sql: string;
  sha256: string;
}

interface Migration extends SqlFile {
  number: number;
}

interface Applied {
  number: number;
  name: string;
  sha256: string;
}

/** What a database lacks. */
interface Pending {
  functions: SqlFile[];
  migrations: Migration[];
}

const defaultFolder = fileURLToPath(new URL("../../db", import.meta.url));

/** An arbitrary number, the same in every version: a migrating process holds this advisory lock. */
const migrationLock = 6_301_120_947;

/** While a migration waits for a table, every later query on that table waits behind it. */
const lockTimeoutMs = 5_000;

const connectionTimeoutMs = 5_000;

/**
 * Brings the database to the schema of this version, as db/README.md says: replaces the functions whose files have changed, then
 * applies each new migration in order, all in one transaction. Several processes may call it at once.
 * @returns the names of the files applied now
 * @throws MigrationError when the database belongs to another program, or has applied a migration that this version lacks or
 * has with other content; UnfitDatabase; DatabaseUnavailable
 */
export async function migrate(
  url: string,
  { folder = defaultFolder }: MigrateOptions = {},
): Promise<{ functions: string[]; migrations: string[] }> {
  return onDatabase(url, async (client) => {
    await client.query("SELECT pg_advisory_lock($1)", [migrationLock]);
    const pending = await findPending(client, folder);
    await applyAll(client, pending);
    return { functions: namesOf(pending.functions), migrations: namesOf(pending.migrations) };
  });
}

/**
 * The names of the files that `migrate` would apply; nothing is changed.
 * @throws as `migrate` does
 */
export async function listPendingFiles(url: string): Promise<string[]> {
  const { functions, migrations } = await onDatabase(url, (client) => findPending(client, defaultFolder));
  return namesOf([...migrations, ...functions]);
}

/**
 * The migrations of this release that the database lacks. A newer release may have replaced functions and added migrations, and
 * processes of this one go on there.
 * @throws as `migrate` does
 */
export async function listMissingMigrations(url: string): Promise<string[]> {
  const [migrations, applied] = await Promise.all([
    readMigrations(join(defaultFolder, "migrations")),
    onDatabase(url, async (client) => {
      await refuseForeign(client);
      const { rows } = await client.query<{ is_there: boolean }>(
        "SELECT to_regclass('migrations') IS NOT NULL AS is_there",
      );
      return rows[0]?.is_there ? (await client.query<Applied>(selectHistory)).rows : [];
    }),
  ]);
  const numbers = new Set(applied.map(({ number }) => number));
  return namesOf(migrations.filter(({ number }) => !numbers.has(number)));
}

const namesOf = (files: SqlFile[]) => files.map(({ name }) => name);

async function onDatabase<T>(url: string, work: (client: Client) => Promise<T>): Promise<T> {
  await requireDatabase(url, "migrate");
  const client = new Client({ connectionString: url, connectionTimeoutMillis: connectionTimeoutMs });
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

async function findPending(client: Client, folder: string): Promise<Pending> {
  await refuseForeign(client);
  const { rows: tables } = await client.query<{ name: string }>(
    "SELECT relname AS name FROM pg_class WHERE oid = ANY (ARRAY[to_regclass('migrations'), to_regclass('applied_functions')])",
  );
  const has = (table: string) => tables.some(({ name }) => name === table);
  const history = has("migrations") ? (await client.query<Applied>(selectHistory)).rows : [];
  const migrations = pendingMigrations(await readMigrations(join(folder, "migrations")), history);
  const known = has("applied_functions") ? (await client.query<SqlFile>(selectFunctions)).rows : [];
  const hashes = new Map(known.map(({ name, sha256 }) => [name, sha256]));
  const functions = await readFiles(join(folder, "functions"));
  return { migrations, functions: functions.filter(({ name, sha256 }) => hashes.get(name) !== sha256) };
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

const selectHistory = "SELECT number, name, sha256 FROM migrations ORDER BY number";
const selectFunctions = "SELECT name, sha256 FROM applied_functions";

const createTables = `
  CREATE TABLE IF NOT EXISTS migrations (
    number int PRIMARY KEY,
    name text NOT NULL,
    sha256 text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()
  );
  CREATE TABLE IF NOT EXISTS applied_functions (
    name text PRIMARY KEY,
    sha256 text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()
  )`;

async function readFiles(folder: string): Promise<SqlFile[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith(".sql")).sort();
  return Promise.all(
    names.map(async (name) => {
      const sql = await readFile(join(folder, name), "utf8");
      return { name, sql, sha256: createHash("sha256").update(sql).digest("hex") };
    }),
  );
}

async function readMigrations(folder: string): Promise<Migration[]> {
  const migrations: Migration[] = [];
  for (const file of await readFiles(folder)) {
    const { name } = file;
    const number = Number(/^(\d{4})-[a-z0-9-]+\.sql$/.exec(name)?.[1]);
    if (!number) throw new MigrationError(`${name} is not named like 0001-what-it-does.sql: rename it.`);
    if (migrations.at(-1)?.number === number) {
      throw new MigrationError(`${migrations.at(-1)?.name} and ${name} have the same number: renumber the later one.`);
    }
    migrations.push({ ...file, number });
  }
  return migrations;
}

/** The first migration of the schema that 0.1.0 replaced. */
const earlierFirst = "0001-gateway.sql";

function pendingMigrations(migrations: Migration[], history: Applied[]): Migration[] {
  if (history[0]?.name === earlierFirst && migrations[0]?.name !== earlierFirst) {
    throw new MigrationError(
      earlierFormat("The database has a schema", "start with another --data folder or an empty database"),
    );
  }
  const files = new Map(migrations.map((migration) => [migration.number, migration]));
  for (const applied of history) {
    const file = files.get(applied.number);
    if (!file) {
      throw new MigrationError(
        `The database has applied ${applied.name}, which this version of Deedhouse does not know: start a version at least as new as the one that ran last.`,
      );
    }
    if (file.sha256 !== applied.sha256) {
      throw new MigrationError(
        `${file.name} has changed since it was applied to this database: restore the file and put the change into a new one.`,
      );
    }
    files.delete(applied.number);
  }
  const latest = history.at(-1);
  const pending = [...files.values()];
  const overtaken = pending.find((migration) => latest && migration.number < latest.number);
  if (overtaken) {
    throw new MigrationError(
      `${overtaken.name} comes before ${latest?.name}, which this database has already applied: give it the next free number.`,
    );
  }
  return pending;
}

/** All or nothing, so that no process runs with functions of one version and tables of another. */
async function applyAll(client: Client, { functions, migrations }: Pending): Promise<void> {
  if (functions.length + migrations.length === 0) return;
  await client.query("BEGIN");
  await client.query(createTables);
  await client.query(`SET LOCAL lock_timeout = ${lockTimeoutMs}`);
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
    await client.query("INSERT INTO migrations (number, name, sha256) VALUES ($1, $2, $3)", [
      migration.number,
      migration.name,
      migration.sha256,
    ]);
  }
  await client.query("COMMIT");
}

async function apply(client: Client, { name, sql }: SqlFile): Promise<void> {
  try {
    await client.query(sql);
  } catch (error) {
    throw new MigrationError(`${name} failed and changed nothing: ${(error as Error).message}`, { cause: error });
  }
}
