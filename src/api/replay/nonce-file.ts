/**
 * One file of the journal of used nonces: a line for each. Its space on the disk is taken ahead, as zero bytes, so that a
 * disk that fills up is noticed before a request is carried out and not when its nonce is to be written down.
 */
import { closeSync, fdatasync, fsyncSync, ftruncateSync, openSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

/** A request that was answered; `timestamp` is in unix seconds. */
export interface NonceEntry {
  keyId: string;
  nonce: string;
  timestamp: number;
}

/** What the state says of a file. */
export interface ListedFile {
  name: string;
  /** Of its lines. */
  bytes: number;
  timestampMax: number;
}

const entryForm = /^([0-9a-f]{32}) ([1-9][0-9]{9}) ([A-Za-z0-9._-]{1,128})$/;
const entryBytesMax = 32 + 1 + 10 + 1 + 128 + 1;
/** Taken at once: some 900 lines. */
const room = Buffer.alloc(64 * 1024);
/** For the other nonces that a signature may be read as. */
const spareBytes = 4 * 1024;

const syncData = promisify(fdatasync);

export class NonceFile implements ListedFile {
  readonly name: string;
  readonly openedSeconds: number;
  bytes = 0;
  timestampMax = 0;
  readonly #fd: number;
  #roomBytes = 0;
  #syncing: Promise<void> | undefined;
  #nextSync: Promise<void> | undefined;

  /** @throws when it is there already, or cannot be made */
  constructor(folder: string, name: string, openedSeconds: number) {
    this.name = name;
    this.openedSeconds = openedSeconds;
    this.#fd = openSync(join(folder, name), "wx", 0o600);
  }

  /** Returns when so many lines have their space on the disk. @throws when they cannot have it */
  makeRoom(lines: number): void {
    const neededBytes = this.bytes + lines * entryBytesMax + spareBytes;
    while (this.#roomBytes < neededBytes) {
      this.#roomBytes += writeSync(this.#fd, room, 0, room.length, this.#roomBytes);
    }
  }

  /** Returns when the kernel has the line: it stays when this process is killed. The next one replaces half a line. */
  append({ keyId, nonce, timestamp }: NonceEntry): void {
    const line = Buffer.from(`${keyId} ${timestamp} ${nonce}\n`, "latin1");
    for (let written = 0; written < line.length; ) {
      written += writeSync(this.#fd, line, written, line.length - written, this.bytes + written);
    }
    this.bytes += line.length;
    this.timestampMax = Math.max(this.timestampMax, timestamp);
  }

  /** Resolves when every line so far outlives the machine. Calls that come while the disk is at work share the next turn. */
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

  /** Nothing is appended any more. */
  close(): void {
    const underWay = this.#nextSync ?? this.#syncing;
    if (underWay) underWay.catch(() => {}).then(() => this.#release());
    else this.#release();
  }

  #release(): void {
    ftruncateSync(this.#fd, this.bytes);
    closeSync(this.#fd);
  }
}

export interface ReadFile {
  /** Those that can be read. */
  entries: NonceEntry[];
  bytes: number;
  isDamaged: boolean;
}

/** Reads a file, be it damaged. @returns nothing when it is missing */
export function readNonceFile(folder: string, name: string): ReadFile | undefined {
  let content: Buffer;
  try {
    content = readFileSync(join(folder, name));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  // What follows the last line feed is room that was not used, or was being written when the process died: its request
  // was not answered.
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
