import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type JournalFile, JournalFiles } from "#api/replay/journal-files.ts";
import { type NonceEntry, NonceFile } from "#api/replay/nonce-file.ts";
import { type Recovered, type RecoveryOptions, recover } from "#api/replay/recovery.ts";
import { headAt, type ReplayMemory, raiseSeconds, readSeconds } from "#api/replay/replay-memory.ts";
import { type Bounds, listFiles, nextFileName, syncPath, writeState } from "#api/replay/state.ts";
import { readBootId } from "#config.ts";
import { unixSeconds } from "#lib/clock.ts";
import { FolderBusy, lockFolder } from "#lib/folder-lock.ts";
import { freeLock, withLock } from "#lib/threads/lock.ts";

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
//
// Each thread of an api appends to a file of its own. Whichever must raise the bounds or begins a file writes the state, for all and
// with a lock in shared memory; the lock of the folder belongs to the first thread, which has read it.

/** The horizon is not among them: it is in the same shared memory, and saved with them. */
export type UpperBounds = Omit<Bounds, "horizonSeconds">;

export interface ReplayJournal {
  bounds(): UpperBounds;
  /**
   * Returns when higher bounds and the horizon are on disk (0.5 ms on an SSD). Removes the files that lie below the horizon.
   * @param next undefined when another thread has raised the bounds by now, and they suffice
   */
  raise(next: (bounds: UpperBounds) => UpperBounds | undefined): void;
  /** Returns when `entries` more can be appended, even if the disk fills up. @throws when they cannot */
  makeRoom(entries: number): void;
  /** Returns when the kernel has the entry. @throws when it cannot be written: the answer must not go out then */
  append(entry: NonceEntry): void;
  /** Resolves when all entries so far would survive a system crash. */
  sync(): Promise<void>;
  /**
   * Ends appending. In the thread that has opened the folder, after all others: makes everything durable, so that a reboot loses nothing,
   * and releases the folder.
   */
  close(): void;
}

export interface ReplayJournalOptions extends Omit<RecoveryOptions, "bootId" | "freshInstall"> {
  memory: ReplayMemory;
  /** Its number. */
  thread: number;
  fileBytesMax: number;
  fileAgeSecondsMax: number;
}

const diskFullCodes: ReadonlySet<string | undefined> = new Set(["ENOSPC", "EDQUOT"]);

/**
 * Opens the folder, creates it when it is missing, and locks it for this process. A full disk does not prevent opening:
 * some answers need no space.
 * @param freshInstall nothing was ever accepted with this database
 * @returns also the nonces that were answered before this start
 * @throws when another process holds the folder
 */
export function openReplayJournal(
  options: ReplayJournalOptions,
  freshInstall: boolean,
): { journal: ReplayJournal; entries: NonceEntry[] } {
  mkdirSync(options.journalDir, { recursive: true, mode: 0o700 });
  const lock = takeFolder(options.journalDir);
  try {
    const recovered = recover({ ...options, freshInstall, bootId: readBootId() });
    return { journal: new FolderJournal(options, { lock, recovered }), entries: recovered.entries };
  } catch (error) {
    lock[Symbol.dispose]();
    throw error;
  }
}

/** For another thread, once the folder is open. */
export function joinReplayJournal(options: ReplayJournalOptions): ReplayJournal {
  return new FolderJournal(options);
}

/** What a thread that has died leaves behind. */
export function freeJournalThread({ head, files }: ReplayMemory, thread: number): void {
  new JournalFiles(files).freeThread(thread);
  freeLock(new Int32Array(head), headAt.lock, thread);
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
  readonly #options: ReplayJournalOptions;
  readonly #head: Int32Array;
  readonly #files: JournalFiles;
  /** Of the thread that has opened it. */
  readonly #lock: Disposable | undefined;
  readonly #bootId = readBootId();
  /** Entries not yet written to a file of this process. */
  #rescued: NonceEntry[] = [];
  /** Undefined while the disk is full. */
  #current: { file: NonceFile; listed: JournalFile } | undefined;

  constructor(options: ReplayJournalOptions, opened?: { lock: Disposable; recovered: Recovered }) {
    this.#options = options;
    this.#head = new Int32Array(options.memory.head);
    this.#files = new JournalFiles(options.memory.files);
    this.#lock = opened?.lock;
    if (opened) this.#takeOver(opened.recovered);
    try {
      this.#locked(() => this.#startFile());
    } catch (error) {
      const { journalDir, log } = options;
      if (!diskFullCodes.has((error as NodeJS.ErrnoException).code)) throw error;
      log.error({ err: error, journalDir }, "the disk of the journal of used nonces is full: requests are refused");
    }
  }

  bounds(): UpperBounds {
    return {
      ceilingSeconds: readSeconds(this.#head, headAt.ceiling),
      latestSeconds: readSeconds(this.#head, headAt.latest),
    };
  }

  raise(next: (bounds: UpperBounds) => UpperBounds | undefined): void {
    this.#locked(() => {
      const bounds = next(this.bounds());
      if (!bounds) return;
      const { clock, fileAgeSecondsMax } = this.#options;
      const opened = this.#current?.file.openedSeconds;
      if (opened === undefined || unixSeconds(clock) - opened >= fileAgeSecondsMax) this.#startFile();
      const horizonSeconds = readSeconds(this.#head, headAt.horizon);
      this.#save({ ...bounds, horizonSeconds }, (file) => file.isInUse || file.timestampMax > horizonSeconds);
    });
  }

  makeRoom(entries: number): void {
    const file = this.#current?.file;
    if (file && file.bytes < this.#options.fileBytesMax) file.makeRoom(entries);
    else this.#locked(() => this.#startFile()).makeRoom(entries);
  }

  append(entry: NonceEntry): void {
    this.#opened().append(entry);
  }

  sync(): Promise<void> {
    return this.#opened().sync();
  }

  close(): void {
    const { journalDir, log, thread } = this.#options;
    this.#current?.file.close();
    this.#current?.listed.giveBack(thread);
    if (!this.#lock) return;
    try {
      for (const file of this.#files.listed()) syncPath(join(journalDir, file.name));
      this.#locked(() => this.#save(this.#saved(), undefined, true));
    } catch (error) {
      // The same as after a kill: nothing is lost unless the system reboots before the next start.
      log.error({ err: error, journalDir }, "the journal of used nonces could not be closed");
    }
    this.#lock[Symbol.dispose]();
  }

  #opened(): NonceFile {
    if (!this.#current) throw new Error("Nothing can be written before there is room for it.");
    return this.#current.file;
  }

  #locked<Result>(work: () => Result): Result {
    return withLock(this.#head, headAt.lock, this.#options.thread, work);
  }

  #takeOver({ bounds, files, rescued }: Recovered): void {
    for (const file of files) this.#files.add(file);
    this.#rescued = rescued;
    this.#setBounds(bounds);
  }

  #saved(): Bounds {
    return { ...this.bounds(), horizonSeconds: readSeconds(this.#head, headAt.horizon) };
  }

  #setBounds({ horizonSeconds, ceilingSeconds, latestSeconds }: Bounds): void {
    raiseSeconds(this.#head, headAt.horizon, horizonSeconds);
    raiseSeconds(this.#head, headAt.ceiling, ceilingSeconds);
    raiseSeconds(this.#head, headAt.latest, latestSeconds);
  }

  /** The only durable step: the state is saved first, then its consequences follow. */
  #save(next: Bounds, isKept: (file: JournalFile) => boolean = () => true, closedCleanly = false): void {
    const { journalDir } = this.#options;
    const listed = this.#files.listed();
    const kept = listed.filter(isKept);
    const names = kept.map(({ name }) => name);
    const bytes = Object.fromEntries(kept.map((file) => [file.name, file.bytes]));
    writeState(journalDir, { ...next, bootId: this.#bootId, closedCleanly, files: names, bytes });
    this.#setBounds(next);
    for (const file of listed) if (!kept.includes(file)) file.unlist();
    for (const name of listFiles(journalDir)) if (!names.includes(name)) rmSync(join(journalDir, name));
  }

  /** Starts a file and lists it in the state: after a restart, files that are not listed are not read. */
  #startFile(): NonceFile {
    const { journalDir, clock, thread } = this.#options;
    const listed = this.#files.add({ name: nextFileName(journalDir), bytes: 0, timestampMax: 0 });
    const { name } = listed;
    let file: NonceFile | undefined;
    try {
      file = new NonceFile(journalDir, listed, unixSeconds(clock));
      for (const entry of this.#rescued) file.append(entry);
      if (this.#rescued.length > 0) file.syncNow();
      this.#save(this.#saved());
    } catch (error) {
      file?.close();
      listed.unlist();
      rmSync(join(journalDir, name), { force: true });
      throw error;
    }
    this.#rescued = [];
    listed.lend(thread);
    this.#current?.file.close();
    this.#current?.listed.giveBack(thread);
    this.#current = { file, listed };
    return file;
  }
}
