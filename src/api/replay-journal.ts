import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { type Clock, unixSeconds } from "#lib/clock.ts";
import { FolderBusy, lockFolder } from "#lib/folder-lock.ts";
import type { Log } from "#lib/log.ts";

// The durable half of the replay guard: a folder with
//
//   nonces-000001.log …  one line per answered request, appended with write(2) before the answer goes out. The page
//                        cache keeps such a line when the process is killed, so it costs 1.4 µs and not an fsync.
//   state.json           replaced and fsynced. It holds the ceiling: no timestamp above it has ever been accepted.
//   lock.sqlite          locked for as long as the process lives.
//
// What the page cache does not survive is a crash of the machine. It shows as another boot id with no clean shutdown in
// between, and then the horizon becomes the ceiling: whatever was lost lies at or below it. So does a file that is
// missing or not readable. Without state.json nothing is known: the horizon becomes the latest acceptable timestamp.

/** A request that was answered; `timestamp` is in unix seconds. */
export interface NonceEntry {
  keyId: string;
  nonce: string;
  timestamp: number;
}

/** What the state file promises. */
export interface Bounds {
  /** Timestamps at or below were perhaps accepted, and which ones may be forgotten. Never falls. */
  horizonSeconds: number;
  /** No timestamp above has been accepted. Never falls. */
  ceilingSeconds: number;
}

export interface ReplayJournal {
  /** What was answered before this start. */
  entries: NonceEntry[];
  bounds(): Bounds;
  /** Returns when higher bounds are on disk (0.5 ms on an SSD); drops the files that lie below the horizon. */
  raise(bounds: Bounds): void;
  /** Returns when the kernel has the entry. @throws when it can't be written: the answer must not go out then */
  append(entry: NonceEntry): void;
  /** Makes everything durable, so that a restart of the machine loses nothing, and gives the folder free. */
  close(): void;
}

export interface ReplayJournalOptions {
  journalDir: string;
  clock: Clock;
  log: Log;
  windowSeconds: number;
  /** Nothing was ever accepted under this database. */
  freshInstall: boolean;
  fileBytesMax: number;
  fileAgeSecondsMax: number;
}

interface JournalState extends Bounds {
  bootId: string;
  closedCleanly: boolean;
  files: string[];
}

interface JournalFile {
  name: string;
  timestampMax: number;
}

interface CurrentFile extends JournalFile {
  fd: number;
  bytes: number;
  openedSeconds: number;
  /** A write did not come to its end: what follows would be glued to half a line. */
  isBroken: boolean;
}

const entryForm = /^([0-9a-f]{32}) ([1-9][0-9]{9}) ([A-Za-z0-9._-]{1,128})$/;
const fileForm = /^nonces-([0-9]+)\.log$/;

/**
 * Opens the folder, creating it when it is missing, and takes it for this process alone.
 * @throws when another process has it
 */
export function openReplayJournal(options: ReplayJournalOptions): ReplayJournal {
  mkdirSync(options.journalDir, { recursive: true, mode: 0o700 });
  const lock = takeFolder(options.journalDir);
  try {
    return createJournal(options, lock);
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

function createJournal(options: ReplayJournalOptions, lock: Disposable): ReplayJournal {
  const { journalDir, clock, fileBytesMax, fileAgeSecondsMax } = options;
  const bootId = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  const recovered = recover(options, bootId);
  let bounds: Bounds = recovered.bounds;
  let files: JournalFile[] = recovered.files;
  let current = startFile();

  /** The one durable step: first the state, then what follows from it. */
  function save(next: Bounds, listed: JournalFile[], closedCleanly = false): void {
    writeState(journalDir, { ...next, bootId, closedCleanly, files: listed.map((file) => file.name) });
    bounds = next;
    files = listed;
    const names = new Set(files.map((file) => file.name));
    for (const name of listFiles(journalDir)) if (!names.has(name)) rmSync(join(journalDir, name));
  }

  /** Begins a file and lists it in the state: a file that is not listed is not read after a restart. */
  function startFile(): CurrentFile {
    const last = Math.max(0, ...listFiles(journalDir).map((name) => Number(fileForm.exec(name)?.[1])));
    const name = `nonces-${String(last + 1).padStart(6, "0")}.log`;
    const fd = openSync(join(journalDir, name), "ax", 0o600);
    const started = { name, timestampMax: 0, fd, bytes: 0, openedSeconds: unixSeconds(clock), isBroken: false };
    try {
      save(bounds, [...files, started]);
    } catch (error) {
      closeSync(fd);
      rmSync(join(journalDir, name));
      throw error;
    }
    return started;
  }

  function rotate(): void {
    const started = startFile();
    closeSync(current.fd);
    current = started;
  }

  return {
    entries: recovered.entries,
    bounds: () => bounds,

    raise(next) {
      if (unixSeconds(clock) - current.openedSeconds >= fileAgeSecondsMax) rotate();
      save(
        next,
        files.filter((file) => file === current || file.timestampMax > next.horizonSeconds),
      );
    },

    append({ keyId, nonce, timestamp }) {
      if (current.isBroken || current.bytes >= fileBytesMax) rotate();
      const line = `${keyId} ${timestamp} ${nonce}\n`;
      current.isBroken = true;
      const written = writeSync(current.fd, line);
      if (written !== line.length) throw new Error(`Only a part of a line could be written to ${current.name}.`);
      current.isBroken = false;
      current.bytes += written;
      current.timestampMax = Math.max(current.timestampMax, timestamp);
    },

    close() {
      closeSync(current.fd);
      for (const file of files) syncPath(join(journalDir, file.name));
      save(bounds, files, true);
      lock[Symbol.dispose]();
    },
  };
}

interface Recovered {
  bounds: Bounds;
  files: JournalFile[];
  entries: NonceEntry[];
}

/** What the last run left; when something may be missing, a horizon that covers it. */
function recover(
  { journalDir, clock, log, windowSeconds, freshInstall }: ReplayJournalOptions,
  bootId: string,
): Recovered {
  const state = readState(journalDir);
  if (!state && freshInstall && listFiles(journalDir).length === 0) {
    return { bounds: { horizonSeconds: 0, ceilingSeconds: 0 }, files: [], entries: [] };
  }
  const contents = state?.files.map((name) => ({ name, entries: readEntries(join(journalDir, name)) })) ?? [];
  const loss = findLoss(state, bootId, contents);
  if (loss !== undefined) {
    const latest = unixSeconds(clock) + windowSeconds;
    const horizonSeconds = state ? Math.max(state.horizonSeconds, state.ceilingSeconds) : latest;
    log.warn({ journalDir, horizonSeconds }, `${loss}: requests signed up to the horizon are refused`);
    return { bounds: { horizonSeconds, ceilingSeconds: horizonSeconds }, files: [], entries: [] };
  }
  const { horizonSeconds = 0, ceilingSeconds = 0 } = state ?? {};
  const entries = contents.flatMap((file) => file.entries ?? []);
  const files = contents.map(({ name, entries = [] }) => {
    return { name, timestampMax: entries.reduce((latest, entry) => Math.max(latest, entry.timestamp), 0) };
  });
  return { bounds: { horizonSeconds, ceilingSeconds }, files, entries };
}

function findLoss(
  state: JournalState | undefined,
  bootId: string,
  contents: { name: string; entries: NonceEntry[] | undefined }[],
): string | undefined {
  if (!state) return "The journal of used nonces has no state.json";
  if (state.bootId !== bootId && !state.closedCleanly) return "The machine restarted and the api had not been stopped";
  const unreadable = contents.find((file) => file.entries === undefined);
  return unreadable && `${unreadable.name} of the journal of used nonces is missing or damaged`;
}

/** @returns nothing when the file is missing or a line is damaged */
function readEntries(path: string): NonceEntry[] | undefined {
  let text: string;
  try {
    text = readFileSync(path, "latin1");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  // What follows the last line feed was being written when the process died: its request was not answered.
  const lines = text.split("\n").slice(0, -1);
  const entries: NonceEntry[] = [];
  for (const line of lines) {
    const match = entryForm.exec(line);
    if (!match) return undefined;
    const [, keyId = "", timestamp = "", nonce = ""] = match;
    entries.push({ keyId, nonce, timestamp: Number(timestamp) });
  }
  return entries;
}

function listFiles(journalDir: string): string[] {
  return readdirSync(journalDir).filter((name) => fileForm.test(name));
}

/** @returns nothing when there is none, or it is damaged */
function readState(journalDir: string): JournalState | undefined {
  try {
    const state = JSON.parse(readFileSync(join(journalDir, "state.json"), "utf8"));
    return isJournalState(state) ? state : undefined;
  } catch (error) {
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

function isJournalState(value: unknown): value is JournalState {
  const state = (value ?? {}) as Record<keyof JournalState, unknown>;
  return (
    typeof state.bootId === "string" &&
    typeof state.closedCleanly === "boolean" &&
    Number.isSafeInteger(state.horizonSeconds) &&
    Number.isSafeInteger(state.ceilingSeconds) &&
    Array.isArray(state.files) &&
    state.files.every((name) => fileForm.test(name))
  );
}

function writeState(journalDir: string, state: JournalState): void {
  const path = join(journalDir, "state.json");
  writeFileSync(`${path}.new`, JSON.stringify(state), { mode: 0o600 });
  syncPath(`${path}.new`);
  renameSync(`${path}.new`, path);
  syncPath(journalDir);
}

function syncPath(path: string): void {
  const fd = openSync(path, "r");
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
