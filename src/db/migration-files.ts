/** The files of db/: what a migration says about itself, and which of them a database lacks. */
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { earlierFormat } from "#lib/earlier-format.ts";

/** The database does not match this version's files; the message says what to do. */
export class MigrationError extends Error {
  override readonly name = "MigrationError";
}

export interface SqlFile {
  /** The file's name. */
  name: string;
  sql: string;
  sha256: string;
}

/** An expand is one that the release before bears; a contract removes what only older releases use. */
export type Level = "expand" | "contract";

export interface Migration extends SqlFile {
  number: number;
  level: Level;
  /** One statement, in no transaction with others: it builds an index, or validates a constraint. */
  isAlone: boolean;
  /** The index that it builds. */
  index: string | undefined;
}

export interface Applied {
  number: number;
  name: string;
  sha256: string;
  level: Level;
}

/** What the files have, and a database has not. */
export interface PendingMigrations {
  expands: Migration[];
  contracts: Migration[];
  /** Of a newer release, which this one knows nothing of. */
  unknown: Applied[];
}

const nameForm = /^(\d{4})-[a-z0-9-]+\.sql$/;
const headForm = /^-- (expand|contract)(, without a transaction)?\n/;
const indexForm = /^CREATE (?:UNIQUE )?INDEX CONCURRENTLY (\w+) ON [^;]+;?$/;
const validationForm = /^ALTER TABLE \w+ VALIDATE CONSTRAINT \w+;?$/;
/** The first migration of the schema that 0.1.0 replaced. */
const earlierFirst = "0001-gateway.sql";

export async function readSqlFiles(folder: string): Promise<SqlFile[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith(".sql")).sort();
  return Promise.all(
    names.map(async (name) => {
      const sql = await readFile(join(folder, name), "utf8");
      return { name, sql, sha256: createHash("sha256").update(sql).digest("hex") };
    }),
  );
}

/** In the order of their numbers. @throws MigrationError that names the file that is not as db/README.md says */
export async function readMigrations(folder: string): Promise<Migration[]> {
  const migrations = (await readSqlFiles(folder)).map(parseMigration);
  for (const [index, { number, name }] of migrations.entries()) {
    const before = migrations[index - 1];
    if (before?.number !== number) continue;
    throw new MigrationError(`${before.name} and ${name} have the same number: renumber the later one.`);
  }
  return migrations;
}

function parseMigration(file: SqlFile): Migration {
  const { name, sql } = file;
  const number = Number(nameForm.exec(name)?.[1]);
  if (!number) throw new MigrationError(`${name} is not named like 0001-what-it-does.sql: rename it.`);
  const head = headForm.exec(sql);
  if (!head) {
    throw new MigrationError(
      `${name} does not say its level: begin it with "-- expand", "-- contract" or "-- expand, without a transaction".`,
    );
  }
  const [, level, alone] = head;
  const isAlone = alone !== undefined;
  const statements = statementsOf(sql);
  const index = isAlone ? indexForm.exec(statements)?.[1] : undefined;
  if (isAlone && index === undefined && !validationForm.test(statements)) {
    throw new MigrationError(
      `${name} runs without a transaction, so it may only be one CREATE INDEX CONCURRENTLY name ON … or one ALTER TABLE name VALIDATE CONSTRAINT name: move the rest to another file.`,
    );
  }
  return { ...file, number, level: level as Level, isAlone, index };
}

/** Without comments, on one line. */
export const statementsOf = (sql: string) => sql.replace(/--.*$/gm, "").replace(/\s+/g, " ").trim();

/** @throws MigrationError when the database cannot have come from these files, or has a contract that they do not know */
export function comparePending(migrations: Migration[], history: Applied[]): PendingMigrations {
  if (history[0]?.name === earlierFirst && migrations[0]?.name !== earlierFirst) {
    throw new MigrationError(
      earlierFormat("The database has a schema", "start with another --data folder or an empty database"),
    );
  }
  const files = new Map(migrations.map((migration) => [migration.number, migration]));
  const unknown: Applied[] = [];
  for (const applied of history) {
    const file = files.get(applied.number);
    if (file && file.sha256 !== applied.sha256) {
      throw new MigrationError(
        `${file.name} has changed since it was applied to this database: restore the file and put the change into a new one.`,
      );
    }
    if (!file) unknown.push(applied);
    files.delete(applied.number);
  }
  const strange = unknown.find(({ level }) => level === "contract");
  if (strange) throw new MigrationError(unknownContract(strange));
  const pending = [...files.values()];
  const expands = pending.filter(({ level }) => level === "expand");
  const latest = history.findLast(({ level }) => level === "expand");
  const overtaken = expands.find(({ number }) => latest && number < latest.number);
  if (overtaken) {
    throw new MigrationError(
      `${overtaken.name} comes before ${latest?.name}, which this database has already applied: give it the next free number.`,
    );
  }
  return { expands, contracts: pending.filter(({ level }) => level === "contract"), unknown };
}

const unknownContract = ({ name }: Applied) =>
  `The database has applied ${name}, a contract of a newer release, which removed what this release uses: start that release, or a later one.`;
