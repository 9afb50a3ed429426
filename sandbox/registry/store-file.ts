import { existsSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import {
  type Batch,
  BatchWriter,
  type ChangeOf,
  type JsonChange,
  openDatabase,
  readRows,
  readSequence,
  type TableName,
  tableNames,
} from "./database.ts";

/** A change whose row is never changed in place afterwards. */
export type Change = ChangeOf<unknown>;

/** Lazy changes are written at the latest when this many are queued. */
const queuedChangesMax = 1_000;

/** Receives the content of the file. */
interface Taker {
  takeRow(table: TableName, row: unknown): void;
  /** @param last the last sequence that was written; nothing if the file is new */
  takeSequence(last: number | undefined): void;
}

interface OpenFile {
  database: DatabaseSync;
  writer: BatchWriter;
  wal: FileHandle;
}

/**
 * The SQLite file that survives `kill -9`. Changes that are queued while a batch is being synced form the next batch, one
 * transaction: many sessions share one fsync, and a command's changes are either all on disk or not at all. After a
 * failed write nothing more is written: every later durable() rejects.
 *
 * SQLite's own fsync would stop the registry's one thread at each commit. So SQLite syncs at checkpoints only, and the
 * write-ahead log, which holds the commits since the last checkpoint, is synced from here without blocking.
 */
export class StoreFile {
  readonly #sequence: () => number;
  #file: OpenFile | undefined;
  #queued: JsonChange[] = [];
  #queuedCount = 0;
  #neededCount = 0;
  #writtenCount = 0;
  #writing: Promise<void> | undefined;
  #failure: unknown;

  /** @param sequence the last number handed out, written with every batch */
  constructor(sequence: () => number) {
    this.#sequence = sequence;
  }

  /**
   * Passes what `folder`/registry.sqlite holds to `taker`, and writes to that file from now on.
   * @throws Error for a folder from before 0.1.0, whose content is a log: it stays as it is
   */
  async open(folder: string, taker: Taker): Promise<void> {
    refuseLog(join(folder, "registry.jsonl"));
    const path = join(folder, "registry.sqlite");
    // SQLite gives the files that it creates next to it the same permissions.
    await (await open(path, "a", 0o600)).close();
    const database = openDatabase(path);
    try {
      this.#file = { database, writer: new BatchWriter(database), wal: await open(`${path}-wal`, "r+") };
      for (const table of tableNames) {
        for (const row of readRows(database, table)) taker.takeRow(table, row);
      }
      taker.takeSequence(readSequence(database));
      // At once: a process that is killed before its first change must not leave its numbers to the next one.
      await this.#writeBatch();
    } catch (error) {
      await this.#file?.wal.close();
      this.#file = undefined;
      database.close();
      throw error;
    }
  }

  /** Queues a change. It is on disk once a durable() called after it has resolved. */
  append(change: Change): void {
    this.appendLazily(change);
    this.#neededCount = this.#queuedCount;
  }

  /** Queues a change that durable() does not wait for: it is written with the next batch. */
  appendLazily(change: Change): void {
    if (!this.#file) return;
    this.#queued.push(change.kind === "put" ? { ...change, row: JSON.stringify(change.row) } : change);
    this.#queuedCount += 1;
    // In a microtask, so that the changes of the current command stay in one batch.
    if (this.#queued.length === queuedChangesMax) {
      queueMicrotask(() => this.#writeUpTo(this.#queuedCount).catch(() => undefined));
    }
  }

  /** Resolves when every change so far, except lazy ones, is on disk; always rejects after a failed write. */
  durable(): Promise<void> {
    return this.#writeUpTo(this.#neededCount);
  }

  async close(): Promise<void> {
    const file = this.#file;
    try {
      await this.#writeUpTo(this.#queuedCount);
    } finally {
      this.#file = undefined;
      await file?.wal.close();
      file?.database.close();
    }
  }

  async #writeUpTo(wantedCount: number): Promise<void> {
    while (this.#writtenCount < wantedCount) {
      if (this.#failure) throw this.#failure;
      this.#writing ??= this.#writeBatch();
      await this.#writing;
    }
  }

  async #writeBatch(): Promise<void> {
    const upTo = this.#queuedCount;
    const batch: Batch = { sequence: this.#sequence(), changes: this.#queued };
    this.#queued = [];
    try {
      this.#file!.writer.write(batch);
      await this.#file!.wal.datasync();
      this.#writtenCount = upTo;
    } catch (error) {
      this.#failure = error;
      throw error;
    } finally {
      this.#writing = undefined;
    }
  }
}

function refuseLog(path: string): void {
  if (!existsSync(path)) return;
  throw new Error(
    `${path} is from before 0.1.0: start with another --data folder, or use the last commit that reads it, which docs/operating.md names.`,
  );
}
