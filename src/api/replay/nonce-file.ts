/**
 * One file of the journal of used nonces, a line each. Its disk space is allocated ahead as zero bytes, so that a full
 * disk is noticed before a request is carried out and not when its nonce must be written.
 */
import { closeSync, fdatasync, fsyncSync, ftruncateSync, openSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { reportDefect } from "#lib/report-defect.ts";

/** A request that was answered; `timestamp` is in unix seconds. */
export interface NonceEntry {
  keyId: string;
  nonce: string;
  timestamp: number;
}

/** What the state records about a file. */
export interface ListedFile {
  readonly name: string;
  /** The length of its lines. */
  bytes: number;
  timestampMax: number;
}

const entryForm = /^([0-9a-f]{32}) ([1-9][0-9]{9}) ([A-Za-z0-9._-]{1,128})$/;
const entryBytesMax = 32 + 1 + 10 + 1 + 128 + 1;
/** Allocated at once: room for about 900 lines. */
const room = Buffer.alloc(64 * 1024);
/** Reserved for the other nonces that a signature can be read as. */
const spareBytes = 4 * 1024;

const syncData = promisify(fdatasync);

export class NonceFile {
  readonly openedSeconds: number;
  readonly #listed: ListedFile;
  readonly #fd: number;
  #roomBytes = 0;
  #syncing: Promise<void> | undefined;
  #nextSync: Promise<void> | undefined;

  /** @param listed follows what is written @throws when the file exists already or cannot be created */
  constructor(folder: string, listed: ListedFile, openedSeconds: number) {
    this.#listed = listed;
    this.openedSeconds = openedSeconds;
    this.#fd = openSync(join(folder, listed.name), "wx", 0o600);
  }

  get bytes(): number {
    return this.#listed.bytes;
  }

  /** Returns when the disk has room for `lines` more lines. @throws when it has not */
  makeRoom(lines: number): void {
    const neededBytes = this.bytes + lines * entryBytesMax + spareBytes;
    while (this.#roomBytes < neededBytes) {
      this.#roomBytes += writeSync(this.#fd, room, 0, room.length, this.#roomBytes);
    }
  }

  /**
   * Returns when the kernel has the line: it survives a kill of this process. The next append overwrites a half-written
   * line.
   */
  append({ keyId, nonce, timestamp }: NonceEntry): void {
    const line = Buffer.from(`${keyId} ${timestamp} ${nonce}\n`, "latin1");
    const { bytes } = this;
    // First: a file is removed when its latest timestamp lies below the horizon.
    this.#listed.timestampMax = Math.max(this.#listed.timestampMax, timestamp);
    for (let written = 0; written < line.length; ) {
      written += writeSync(this.#fd, line, written, line.length - written, bytes + written);
    }
    this.#listed.bytes = bytes + line.length;
  }

  /** Resolves when every line so far would survive a system crash. Calls during an fsync share the next one. */
  sync(): Promise<void> {
    if (this.#syncing) {
      this.#nextSync ??= this.#syncing.catch(() => {}).then(() => this.#syncNext());
      return this.#nextSync;
    }
    this.#syncing = syncData(this.#fd).finally(() => {
      this.#syncing = undefined;
    });
    return this.#syncing;
  }

  #syncNext(): Promise<void> {
    this.#nextSync = undefined;
    return this.sync();
  }

  syncNow(): void {
    fsyncSync(this.#fd);
  }

  /** Ends appending. */
  close(): void {
    const inProgress = this.#nextSync ?? this.#syncing;
    const release = () => this.#release();
    // Without it, the file keeps its unused room, which its readers ignore.
    if (inProgress) inProgress.then(release, release).catch(reportDefect);
    else release();
  }

  #release(): void {
    try {
      ftruncateSync(this.#fd, this.bytes);
    } finally {
      closeSync(this.#fd);
    }
  }
}

export interface ReadFile {
  /** The entries that can be read. */
  entries: NonceEntry[];
  bytes: number;
  isDamaged: boolean;
}

/** Reads a file, even a damaged one. @returns undefined when it is missing */
export function readNonceFile(folder: string, name: string): ReadFile | undefined {
  let content: Buffer;
  try {
    content = readFileSync(join(folder, name));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  // After the last line feed comes unused room, or a line that was being written when the process died: its request was
  // not answered.
  const bytes = content.lastIndexOf("\n") + 1;
  const lines = content.toString("latin1", 0, bytes).split("\n").slice(0, -1);
  const entries = lines.flatMap((line) => parseLine(line) ?? []);
  return { entries, bytes, isDamaged: entries.length < lines.length };
}

function parseLine(line: string): NonceEntry | undefined {
  const [, keyId, timestamp, nonce] = entryForm.exec(line) ?? [];
  if (keyId === undefined || nonce === undefined) return undefined;
  return { keyId, nonce, timestamp: Number(timestamp) };
}
