/**
 * Follows a log that a server appends to, across rotations and our restarts. The position is stored per file, by inode and
 * birth time (a new file soon reuses the inode of a removed one), not by name. Each line of the log and of its predecessor is
 * read once, if the state is stored atomically with the results.
 */
import { type FileHandle, open, rename, stat } from "node:fs/promises";
import { Type } from "typebox";
import { ignoreMissing } from "#nodes/atomic-file.ts";

const chunkBytes = 1_048_576;

/** The position in each file, in bytes. */
export const TailState = Type.Record(Type.String(), Type.Integer({ minimum: 0 }));
export type TailState = Record<string, number>;

export class LogTail {
  readonly #path: string;
  #offsets: Map<string, number>;

  constructor(path: string, state: TailState) {
    this.#path = path;
    this.#offsets = new Map(Object.entries(state));
  }

  get state(): TailState {
    return Object.fromEntries(this.#offsets);
  }

  /** Passes all complete unread lines to `take`, oldest first. @returns whether there were any */
  async read(take: (line: string) => void): Promise<boolean> {
    const before = this.#offsets;
    const offsets = new Map<string, number>();
    let isNew = false;
    for (const path of [`${this.#path}.1`, this.#path]) {
      const file = await open(path, "r").catch(ignoreMissing);
      if (file === undefined) continue;
      try {
        const { ino, birthtimeMs, size } = await file.stat();
        const key = `${ino}-${birthtimeMs}`;
        const known = before.get(key) ?? 0;
        // The log was truncated: start from its beginning.
        const from = known > size ? 0 : known;
        const to = await readLines(file, from, take);
        offsets.set(key, to);
        if (to !== from) isNew = true;
      } finally {
        await file.close();
      }
    }
    this.#offsets = offsets;
    return isNew;
  }

  /** Renames a log that is longer than this; then the server must reopen it. @returns whether it did */
  async rotate(bytesMax: number): Promise<boolean> {
    const found = await stat(this.#path).catch(ignoreMissing);
    if (found === undefined || found.size <= bytesMax) return false;
    await rename(this.#path, `${this.#path}.1`);
    return true;
  }
}

/** @returns the end of the last complete line */
async function readLines(file: FileHandle, from: number, take: (line: string) => void): Promise<number> {
  const chunk = Buffer.alloc(chunkBytes);
  for (let offset = from; ; ) {
    const { bytesRead } = await file.read(chunk, 0, chunkBytes, offset);
    const end = chunk.subarray(0, bytesRead).lastIndexOf("\n") + 1;
    // No line of our formats fills a chunk.
    if (end === 0) return offset;
    for (const line of chunk.toString("latin1", 0, end - 1).split("\n")) take(line);
    offset += end;
  }
}
