import { DatabaseSync, type StatementSync } from "node:sqlite";

/** The tables of the file. Of each row it keeps the key and the row as JSON: the registry searches in memory. */
export const tableNames = [
  "domains",
  "contacts",
  "hosts",
  "messages",
  "passwords",
  "credits",
  "clock",
  "firedLabels",
  "frames",
] as const;

export type TableName = (typeof tableNames)[number];

type Key = string | number;

/** One change of one table: a row is put, a key deleted, everything up to a key deleted, or the table cleared. */
export type ChangeOf<Row> =
  | { kind: "put"; table: TableName; key: Key; row: Row }
  | { kind: "delete" | "deleteUpTo"; table: TableName; key: Key }
  | { kind: "clear"; table: TableName };

/** A change whose row is JSON already. */
export type JsonChange = ChangeOf<string>;

export interface Batch {
  /** The last number that the registry has handed out. */
  sequence: number;
  changes: readonly JsonChange[];
}

/** Frames are found by their number, everything else by a text. */
const keyTypeOf = (table: TableName) => (table === "frames" ? "INTEGER" : "TEXT");

/** Commits between two checkpoints, in pages of 4 KiB: a checkpoint stops the registry until the disk has synced. */
const checkpointPages = 8_000;

/**
 * Opens the file, with all tables.
 *
 * In NORMAL mode a commit is in the write-ahead log when it returns, so `kill -9` does not lose it, but it is not synced
 * to disk before the next checkpoint: the caller syncs the log (sqlite.org/pragma.html#pragma_synchronous).
 */
export function openDatabase(file: string): DatabaseSync {
  const database = new DatabaseSync(file);
  database.exec(`
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = NORMAL;
    PRAGMA wal_autocheckpoint = ${checkpointPages}`);
  const tables = tableNames.map(
    (table) => `CREATE TABLE IF NOT EXISTS ${table} (key ${keyTypeOf(table)} PRIMARY KEY, row TEXT NOT NULL) STRICT;`,
  );
  database.exec(`
    BEGIN;
    CREATE TABLE IF NOT EXISTS sequence (id INTEGER PRIMARY KEY CHECK (id = 1), last INTEGER NOT NULL) STRICT;
    ${tables.join("\n")}
    COMMIT`);
  return database;
}

/** The last number that a batch was written with; nothing if there was none. */
export function readSequence(database: DatabaseSync): number | undefined {
  return database.prepare("SELECT last FROM sequence").get()?.last as number | undefined;
}

/** A table's rows in the order in which their keys were first put, as a Map has them. */
export function* readRows(database: DatabaseSync, table: TableName): Generator<unknown> {
  for (const { row } of database.prepare(`SELECT row FROM ${table} ORDER BY rowid`).iterate()) {
    yield JSON.parse(row as string);
  }
}

/** Writes batches, each in one transaction. */
export class BatchWriter {
  readonly #database: DatabaseSync;
  readonly #setSequence: StatementSync;
  readonly #statements: ReadonlyMap<TableName, Statements>;

  constructor(database: DatabaseSync) {
    this.#database = database;
    this.#setSequence = database.prepare(
      `INSERT INTO sequence (id, last) VALUES (1, $last)
       ON CONFLICT (id) DO UPDATE SET last = excluded.last`,
    );
    this.#statements = new Map(tableNames.map((table) => [table, statementsOf(database, table)]));
  }

  write({ sequence, changes }: Batch): void {
    this.#database.exec("BEGIN");
    for (const change of changes) {
      const { put, clear, ...deletes } = this.#statements.get(change.table)!;
      if (change.kind === "put") put.run({ key: change.key, row: change.row });
      else if (change.kind === "clear") clear.run();
      else deletes[change.kind].run({ key: change.key });
    }
    this.#setSequence.run({ last: sequence });
    this.#database.exec("COMMIT");
  }
}

type Statements = Record<JsonChange["kind"], StatementSync>;

function statementsOf(database: DatabaseSync, table: TableName): Statements {
  return {
    put: database.prepare(
      `INSERT INTO ${table} (key, row) VALUES ($key, $row)
       ON CONFLICT (key) DO UPDATE SET row = excluded.row`,
    ),
    delete: database.prepare(`DELETE FROM ${table} WHERE key = $key`),
    deleteUpTo: database.prepare(`DELETE FROM ${table} WHERE key <= $key`),
    clear: database.prepare(`DELETE FROM ${table}`),
  };
}
