import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type ListedFile, type NonceEntry, NonceFile } from "#api/replay/nonce-file.ts";
import { type RecoveryOptions, recover } from "#api/replay/recovery.ts";
import { type Bounds, listFiles, nextFileName, syncPath, writeState } from "#api/replay/state.ts";
import { readBootId } from "#config.ts";
import { unixSeconds } from "#lib/clock.ts";
import { FolderBusy, lockFolder } from "#lib/folder-lock.ts";

// The durable half of the replay guard: a folder with
//
//   nonces-000001.log …  one line per answered request, written with write(2) before the answer goes out. The page
//                        cache keeps the line when the process is killed, so it costs 1.4 µs instead of an fsync.
//   state.json           replaced and fsynced. It holds the bounds, and each file's length at that time.
//   lock.sqlite          locked for as long as the process lives.
//
// The page cache does not survive a system crash. Such a crash shows as a new boot id without a clean shutdown; the horizon
// then becomes the ceiling, because every lost nonce lies at or below it. When a file is missing, cut short or unreadable, the
// horizon becomes the latest accepted timestamp. Without state.json nothing is known, and the horizon becomes the latest
// acceptable timestamp.
//
// `raise` and `makeRoom` notice a full disk before a request is carried out.

export interface ReplayJournal {
  /** The nonces answered before this start. */
  entries: NonceEntry[];
  bounds(): Bounds;
  /** Returns when higher bounds are on disk (0.5 ms on an SSD). Removes the files that lie below the horizon. */
  raise(bounds: Bounds): void;
  /** Returns when `entries` more can be appended, even if the disk fills up. @throws when they cannot */
  makeRoom(entries: number): void;
  /** Returns when the kernel has the entry. @throws when it cannot be written: the answer must not go out then */
  append(entry: NonceEntry): void;
  /** Resolves when all entries so far would survive a system crash. */
  sync(): Promise<void>;
  /** Makes everything durable, so that a reboot loses nothing, and releases the folder. */
  close(): void;
}

export interface ReplayJournalOptions extends Omit<RecoveryOptions, "bootId"> {
  fileBytesMax: number;
  fileAgeSecondsMax: number;
}

const diskFullCodes: ReadonlySet<string | undefined> = new Set(["ENOSPC", "EDQUOT"]);

/**
 * Opens the folder, creates it when it is missing, and locks it for this process. A full disk does not prevent opening:
 * some answers need no space.
 * @throws when another process holds the folder
 */
export function openReplayJournal(options: ReplayJournalOptions): ReplayJournal {
  mkdirSync(options.journalDir, { recursive: true, mode: 0o700 });
  const lock = takeFolder(options.journalDir);
  try {
    return new FolderJournal(options, lock);
  } catch (error) {
    lock[Symbol.dispose]();
    throw error;
  }
}

function takeFolder(journalDir: string): Disposable {
  try {
    return lockFolder(journalDir);
  } catch (error) {
    if (!(error instanceof FolderBusy)) throw error;
    throw new Error(
      `Another api process uses ${journalDir}. Stop it first: two processes would not know each other's nonces.`,
      {
        cause: error,
      },
    );
  }
}

class FolderJournal implements ReplayJournal {
  readonly entries: NonceEntry[];
  readonly #options: ReplayJournalOptions;
  readonly #lock: Disposable;
  readonly #bootId = readBootId();
  #bounds: Bounds;
  #files: ListedFile[];
  /** Entries not yet written to a file of this process. */
  #rescued: NonceEntry[];
  /** Undefined while the disk is full. */
  #current: NonceFile | undefined;

  constructor(options: ReplayJournalOptions, lock: Disposable) {
    this.#options = options;
    this.#lock = lock;
    const { bounds, files, entries, rescued } = recover({ ...options, bootId: this.#bootId });
    this.entries = entries;
    this.#bounds = bounds;
    this.#files = files;
    this.#rescued = rescued;
    try {
      this.#startFile();
    } catch (error) {
      const { journalDir, log } = options;
      if (!diskFullCodes.has((error as NodeJS.ErrnoException).code)) throw error;
      log.error({ err: error, journalDir }, "the disk of the journal of used nonces is full: requests are refused");
    }
  }

  bounds(): Bounds {
    return this.#bounds;
  }

  raise(next: Bounds): void {
    const { clock, fileAgeSecondsMax } = this.#options;
    const current = this.#current;
    if (!current || unixSeconds(clock) - current.openedSeconds >= fileAgeSecondsMax) this.#startFile();
    this.#save(
      next,
      this.#files.filter((file) => file === this.#current || file.timestampMax > next.horizonSeconds),
    );
  }

  makeRoom(entries: number): void {
    const current = this.#current;
    const file = current && current.bytes < this.#options.fileBytesMax ? current : this.#startFile();
    file.makeRoom(entries);
  }

  append(entry: NonceEntry): void {
    this.#opened().append(entry);
  }

  sync(): Promise<void> {
    return this.#opened().sync();
  }

  close(): void {
    const { journalDir, log } = this.#options;
    this.#current?.close();
    try {
      for (const file of this.#files) syncPath(join(journalDir, file.name));
      this.#save(this.#bounds, this.#files, true);
    } catch (error) {
      // The same as after a kill: nothing is lost unless the system reboots before the next start.
      log.error({ err: error, journalDir }, "the journal of used nonces could not be closed");
    }
    this.#lock[Symbol.dispose]();
  }

  #opened(): NonceFile {
    if (!this.#current) throw new Error("Nothing can be written before there is room for it.");
    return this.#current;
  }

  /** The only durable step: the state is saved first, then its consequences follow. */
  #save(next: Bounds, files: ListedFile[], closedCleanly = false): void {
    const { journalDir } = this.#options;
    const names = files.map(({ name }) => name);
    const bytes = Object.fromEntries(files.map((file) => [file.name, file.bytes]));
    writeState(journalDir, { ...next, bootId: this.#bootId, closedCleanly, files: names, bytes });
    this.#bounds = next;
    this.#files = files;
    for (const name of listFiles(journalDir)) if (!names.includes(name)) rmSync(join(journalDir, name));
  }

  /** Starts a file and lists it in the state: after a restart, files that are not listed are not read. */
  #startFile(): NonceFile {
    const { journalDir, clock } = this.#options;
    const name = nextFileName(journalDir);
    let started: NonceFile | undefined;
    try {
      started = new NonceFile(journalDir, name, unixSeconds(clock));
      for (const entry of this.#rescued) started.append(entry);
      if (this.#rescued.length > 0) started.syncNow();
      this.#save(this.#bounds, [...this.#files, started]);
    } catch (error) {
      started?.close();
      rmSync(join(journalDir, name), { force: true });
      throw error;
    }
    this.#rescued = [];
    this.#current?.close();
    this.#current = started;
    return started;
  }
}
