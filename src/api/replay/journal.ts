import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type ListedFile, type NonceEntry, NonceFile } from "#api/replay/nonce-file.ts";
import { type RecoveryOptions, recover } from "#api/replay/recovery.ts";
import { type Bounds, listFiles, nextFileName, syncPath, writeState } from "#api/replay/state.ts";
import { unixSeconds } from "#lib/clock.ts";
import { FolderBusy, lockFolder } from "#lib/folder-lock.ts";

// The durable half of the replay guard: a folder with
//
//   nonces-000001.log …  one line per answered request, written with write(2) before the answer goes out. The page
//                        cache keeps such a line when the process is killed, so it costs 1.4 µs and not an fsync.
//   state.json           replaced and fsynced. It holds the bounds, and each file's length at that time.
//   lock.sqlite          locked for as long as the process lives.
//
// What the page cache does not survive is a crash of the machine. It shows as another boot id with no clean shutdown in
// between, and then the horizon becomes the ceiling: whatever was lost lies at or below it. When a file is missing, cut
// short or not readable, the horizon becomes the latest timestamp that was accepted. Without state.json nothing is known:
// the horizon becomes the latest acceptable timestamp.
//
// A full disk is noticed by `raise` and `makeRoom`, before a request is carried out.

export interface ReplayJournal {
  /** What was answered before this start. */
  entries: NonceEntry[];
  bounds(): Bounds;
  /** Returns when higher bounds are on disk (0.5 ms on an SSD); drops the files that lie below the horizon. */
  raise(bounds: Bounds): void;
  /** Returns when so many entries can be appended, however full the disk becomes. @throws when they can't */
  makeRoom(entries: number): void;
  /** Returns when the kernel has the entry. @throws when it can't be written: the answer must not go out then */
  append(entry: NonceEntry): void;
  /** Resolves when all entries so far outlive a crash of the machine. */
  sync(): Promise<void>;
  /** Makes everything durable, so that a restart of the machine loses nothing, and gives the folder free. */
  close(): void;
}

export interface ReplayJournalOptions extends Omit<RecoveryOptions, "bootId"> {
  fileBytesMax: number;
  fileAgeSecondsMax: number;
}

const diskFullCodes: ReadonlySet<string | undefined> = new Set(["ENOSPC", "EDQUOT"]);

/**
 * Opens the folder, creating it when it is missing, and takes it for this process alone. A full disk is no reason not to:
 * there are answers that need no space.
 * @throws when another process has it
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
    throw new Error(`Another api process uses ${journalDir}. Stop it first: two would not know each other's nonces.`, {
      cause: error,
    });
  }
}

class FolderJournal implements ReplayJournal {
  readonly entries: NonceEntry[];
  readonly #options: ReplayJournalOptions;
  readonly #lock: Disposable;
  readonly #bootId = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  #bounds: Bounds;
  #files: ListedFile[];
  /** Not written down in a file of ours yet. */
  #rescued: NonceEntry[];
  /** None while the disk is full. */
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
      // As after a kill: nothing is lost unless the machine restarts before the next start.
      log.error({ err: error, journalDir }, "the journal of used nonces could not be closed");
    }
    this.#lock[Symbol.dispose]();
  }

  #opened(): NonceFile {
    if (!this.#current) throw new Error("Nothing can be written down before there is room for it.");
    return this.#current;
  }

  /** The one durable step: first the state, then what follows from it. */
  #save(next: Bounds, files: ListedFile[], closedCleanly = false): void {
    const { journalDir } = this.#options;
    const names = files.map(({ name }) => name);
    const bytes = Object.fromEntries(files.map((file) => [file.name, file.bytes]));
    writeState(journalDir, { ...next, bootId: this.#bootId, closedCleanly, files: names, bytes });
    this.#bounds = next;
    this.#files = files;
    for (const name of listFiles(journalDir)) if (!names.includes(name)) rmSync(join(journalDir, name));
  }

  /** Begins a file and lists it in the state: a file that is not listed is not read after a restart. */
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
