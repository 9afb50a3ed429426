import { createReadStream } from "node:fs";
import { type FileHandle, open, rename } from "node:fs/promises";
import { dirname } from "node:path";

/** One change of one table: put a row, delete a key, or clear the table. */
export type Change =
  | { table: string; put: unknown }
  | { table: string; delete: string }
  | { table: string; clear: true };

interface Batch {
  sequence: number;
  changes: Change[];
}

/** Lazy changes are written at the latest when so many have gathered. */
const queuedChangesMax = 1_000;

/** Rows per line when the file is rewritten at start. */
const snapshotRowsPerLine = 1_000;

/**
 * An append-only file of JSON lines. A line is a batch: all changes that gathered while the line before it was being
 * written, so many sessions share one fsync, and a command's changes are either all on disk or not at all. At start
 * the file is read, a torn last line is dropped (its changes were never answered), and the file is written anew with
 * the live rows only. After a failed write nothing more is written: every later durable() rejects.
 */
export class AppendLog {
  readonly #sequence: () => number;
  #file: FileHandle | undefined;
  #queued: Change[] = [];
  #queuedCount = 0;
  #neededCount = 0;
  #writtenCount = 0;
  #writing: Promise<void> | undefined;
  #failure: unknown;

  /** @param sequence the last number handed out, written with every batch */
  constructor(sequence: () => number) {
    this.#sequence = sequence;
  }

  /** Replays `path` through `apply` and returns the last sequence it holds; nothing if there is no such file. */
  async replay(path: string, apply: (change: Change) => void): Promise<number | undefined> {
    let sequence: number | undefined;
    let number = 0;
    for await (const { line, isWhole } of linesOf(path)) {
      number += 1;
      sequence ??= 0;
      if (line === "") continue;
      const batch = parseBatch(line);
      if (!batch) {
        if (!isWhole) break;
        throw new Error(`${path}: line ${number} is damaged, and is not the last one`);
      }
      batch.changes.forEach(apply);
      sequence = batch.sequence;
    }
    return sequence;
  }

  /** Replaces the file with `rows` in one step and opens it for appending. */
  async start(path: string, rows: Change[]): Promise<void> {
    const fresh = `${path}.new`;
    const file = await open(fresh, "w", 0o600);
    for (let at = 0; at < rows.length || at === 0; at += snapshotRowsPerLine) {
      await file.appendFile(this.#line(rows.slice(at, at + snapshotRowsPerLine)));
    }
    await file.sync();
    await rename(fresh, path);
    const folder = await open(dirname(path), "r");
    await folder.sync();
    await folder.close();
    this.#file = file;
  }

  /** Queues a change. It is on disk once a durable() called after it has resolved. */
  append(change: Change): void {
    this.appendLazily(change);
    this.#neededCount = this.#queuedCount;
  }

  /** Queues a change that durable() does not wait for: it is written with the next batch. */
  appendLazily(change: Change): void {
    if (!this.#file) return;
    this.#queued.push(change);
    this.#queuedCount += 1;
    // After the present command is through, so that its changes stay in one batch.
    if (this.#queued.length === queuedChangesMax) {
      queueMicrotask(() => this.#writeUpTo(this.#queuedCount).catch(() => undefined));
    }
  }

  /** Resolves when every change so far, but for lazy ones, is on disk; rejects for good after a failed write. */
  durable(): Promise<void> {
    return this.#writeUpTo(this.#neededCount);
  }

  async close(): Promise<void> {
    await this.#writeUpTo(this.#queuedCount);
    await this.#file?.close();
    this.#file = undefined;
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
    const line = this.#line(this.#queued);
    this.#queued = [];
    try {
      await this.#file!.appendFile(line);
      await this.#file!.datasync();
      this.#writtenCount = upTo;
    } catch (error) {
      this.#failure = error;
      throw error;
    } finally {
      this.#writing = undefined;
    }
  }

  #line(changes: Change[]): string {
    return `${JSON.stringify({ sequence: this.#sequence(), changes } satisfies Batch)}\n`;
  }
}

const newline = "\n".charCodeAt(0);
const chunkBytes = 1024 * 1024;

/**
 * The lines of a file, of a missing one none. One after the other: the whole file may be longer than a string can be
 * (512 MiB). Cut at the byte: readline would also cut at U+2028, which JSON leaves in texts.
 */
async function* linesOf(path: string): AsyncGenerator<{ line: string; isWhole: boolean }> {
  let parts: Buffer[] = [];
  try {
    for await (const chunk of createReadStream(path, { highWaterMark: chunkBytes }) as AsyncIterable<Buffer>) {
      let start = 0;
      for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
        parts.push(chunk.subarray(start, end));
        yield { line: Buffer.concat(parts).toString("utf8"), isWhole: true };
        parts = [];
        start = end + 1;
      }
      parts.push(chunk.subarray(start));
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    return;
  }
  yield { line: Buffer.concat(parts).toString("utf8"), isWhole: false };
}

function parseBatch(line: string): Batch | undefined {
  try {
    return JSON.parse(line) as Batch;
  } catch {
    return undefined;
  }
}
