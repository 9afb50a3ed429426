import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { Client } from "pg";
import { translateError } from "#db/errors.ts";
import { refuseOldPostgres } from "#db/server-version.ts";

export interface MigrateOptions {
  /** Default: db/migrations of this repository. */
  migrationsDir?: string;
}

/** The database does not match this version's files; the message says what to do. */
export class MigrationError extends Error {
  override readonly name = "MigrationError";
}

interface Migration {
  number: number;
  /** The file's name. */
  name: string;
  sql: string;
  sha256: string;
}

interface Applied {
  number: number;
  name: string;
  sha256: string;
}

const defaultMigrationsDir = fileURLToPath(new URL("../../db/migrations", import.meta.url));

/** An arbitrary number, the same in every version: a migrating process holds this advisory lock. */
const migrationLock = 6_301_120_947;

/** While a migration waits for a table, every later query on that table waits behind it. */
const lockTimeoutMs = 5_000;

const connectionTimeoutMs = 5_000;

/** For new databases, before the first file. */
const jobQueueFile = fileURLToPath(new URL("../../db/job-queue.sql", import.meta.url));

/**
 * Brings the database to the schema of this version: applies each new file of db/migrations, in order and each in its own
 * transaction. Several processes may call it at once.
 * @returns the names of the files applied now
 * @throws MigrationError when the database belongs to another program, or has applied a file that this version lacks or
 * has with other content; OldPostgres; DatabaseUnavailable
 */
export async function migrate(url: string, options: MigrateOptions = {}): Promise<{ applied: string[] }> {
  const migrations = await readMigrations(options.migrationsDir ?? defaultMigrationsDir);
  const client = new Client({ connectionString: url, connectionTimeoutMillis: connectionTimeoutMs });
  client.on("error", () => {});
  try {
    await client.connect();
    await refuseOldPostgres(client);
    await client.query("SELECT pg_advisory_lock($1)", [migrationLock]);
    await refuseForeign(client);
    await client.query(createTable);
    const history = await client.query<Applied>(selectHistory);
    const pending = pendingMigrations(migrations, history.rows);
    if (history.rows.length === 0) await client.query(await readFile(jobQueueFile, "utf8"));
    for (const migration of pending) await apply(client, migration);
    return { applied: pending.map((migration) => migration.name) };
  } catch (error) {
    throw translateError(error);
  } finally {
    // Releases the lock as well.
    await client.end();
  }
}

/**
 * The names of the files that `migrate` would apply; nothing is changed.
 * @throws as `migrate` does
 */
export async function listPendingMigrations(url: string): Promise<string[]> {
  const migrations = await readMigrations(defaultMigrationsDir);
  const client = new Client({ connectionString: url, connectionTimeoutMillis: connectionTimeoutMs });
  client.on("error", () => {});
  try {
    await client.connect();
    await refuseOldPostgres(client);
    await refuseForeign(client);
    const { rows } = await client.query<{ exists: boolean }>("SELECT to_regclass('migrations') IS NOT NULL AS exists");
    const history = rows[0]?.exists ? (await client.query<Applied>(selectHistory)).rows : [];
    return pendingMigrations(migrations, history).map(({ name }) => name);
  } catch (error) {
    throw translateError(error);
  } finally {
    await client.end();
  }
}

/** Another program's DATABASE_URL, left in the environment, must not get our tables. */
async function refuseForeign(client: Client): Promise<void> {
  const { rows } = await client.query<{ is_foreign: boolean }>(
    `SELECT to_regclass('public.migrations') IS NULL
       AND EXISTS (SELECT FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')) AS is_foreign`,
  );
  if (!rows[0]?.is_foreign) return;
  throw new MigrationError("The database contains tables of another program: give Deedhouse its own empty database.");
}

const selectHistory = "SELECT number, name, sha256 FROM migrations ORDER BY number";

const createTable = `CREATE TABLE IF NOT EXISTS migrations (
  number int PRIMARY KEY,
  name text NOT NULL,
  sha256 text NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT now()
)`;

async function readMigrations(folder: string): Promise<Migration[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith(".sql")).sort();
  const migrations: Migration[] = [];
  for (const name of names) {
    const number = Number(/^(\d{4})-[a-z0-9-]+\.sql$/.exec(name)?.[1]);
    if (!number) throw new MigrationError(`${name} is not named like 0001-what-it-does.sql: rename it.`);
    if (migrations.at(-1)?.number === number) {
      throw new MigrationError(`${migrations.at(-1)?.name} and ${name} have the same number: renumber the later one.`);
    }
    const sql = await readFile(`${folder}/${name}`, "utf8");
    migrations.push({ number, name, sql, sha256: createHash("sha256").update(sql).digest("hex") });
  }
  return migrations;
}

function pendingMigrations(migrations: Migration[], history: Applied[]): Migration[] {
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

async function apply(client: Client, migration: Migration): Promise<void> {
  try {
    await client.query("BEGIN");
    await client.query(`SET LOCAL lock_timeout = ${lockTimeoutMs}`);
    await client.query(migration.sql);
    await client.query("INSERT INTO migrations (number, name, sha256) VALUES ($1, $2, $3)", [
      migration.number,
      migration.name,
      migration.sha256,
    ]);
    await client.query("COMMIT");
  } catch (error) {
    throw new MigrationError(`${migration.name} failed and changed nothing: ${(error as Error).message}`, {
      cause: error,
    });
  }
}
