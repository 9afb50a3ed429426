import {
  freeJournalThread,
  joinReplayJournal,
  openReplayJournal,
  type ReplayJournal,
  type ReplayJournalOptions,
  type UpperBounds,
} from "#api/replay/journal.ts";
import type { NonceEntry } from "#api/replay/nonce-file.ts";
import { NoncesFull, NonceTable } from "#api/replay/nonce-table.ts";
import { allocateReplayMemory, type ReplayMemory } from "#api/replay/replay-memory.ts";
import type { NonceMode } from "#config-nonces.ts";
import { type Clock, unixSeconds } from "#lib/clock.ts";
import type { Log } from "#lib/log.ts";
import { createSteadyTime } from "#lib/steady-time.ts";

// A nonce is remembered while its timestamp can be presented. Every forgotten nonce lies at or below the horizon, and the
// horizon never falls, so setting a clock back reopens nothing. A clock that jumps ahead for a moment refuses requests for that
// moment only: forgetting follows the steady clock, and the horizon is the latest timestamp that was really forgotten. A
// request signed far ahead does not raise the ceiling, which would become the horizon after a system crash; its nonce is
// fsynced separately instead.

const ceilingStepSeconds = 10;
/** How far a timestamp may be ahead of the steady time and still raise the ceiling. */
const aheadSecondsMax = 30;
/** About a million entries. */
const journalFileBytesMax = 64 * 1024 * 1024;
const journalFileAgeSecondsMax = 600;
/** The setting's default is larger (src/config-nonces.ts). */
const megabytesDefault = 16;
/** Shared memory has 32 bits for each, until 2106. */
const secondsMax = 2 ** 32 - 1;

export interface ReplayGuardOptions {
  /** The folder of the journal: on a local disk, and never restored from a backup. */
  journalDir: string;
  clock: Clock;
  log: Log;
  /** How far a timestamp may be from our clock. */
  windowSeconds?: number;
  fileBytesMax?: number;
  fileAgeSecondsMax?: number;
  /** Shared by the guards of all threads; by default, it has its own of 16 MiB. */
  memory?: ReplayMemory;
  /** The number of its thread; 0, the default, is that of the first. */
  thread?: number;
}

/** The disk, the memory or the database cannot record a nonce. The same request may be served later. */
export class JournalUnavailable extends Error {
  override readonly name = "JournalUnavailable";
}

/** Another process has answered a request with this nonce. */
export class NonceTaken extends Error {
  override readonly name = "NonceTaken";
}

/** Accepts each nonce of a key once. It belongs to a thread; `reserve` knows only what the threads of this process have seen. */
export interface ReplayGuard {
  /** Where it keeps them. */
  readonly mode: NonceMode;
  /** Adds the nonces of writes that the database has committed. */
  load(entries: Iterable<NonceEntry>): void;
  /** Whether the nonce was answered or is in flight. */
  isUsed(keyId: string, nonce: string): boolean;
  /**
   * Reserves a nonce for a verified request.
   * @returns false when it is used or in flight, or its timestamp is outside the window or at or below the horizon by
   * now: refuse the request
   * @throws JournalUnavailable when the disk has no room for it: do nothing for the request then
   */
  reserve(keyId: string, nonce: string, timestamp: number): boolean;
  /** Frees a reserved nonce: the answer is 429 or 5xx and nothing was committed. */
  release(keyId: string, nonce: string): void;
  /**
   * Marks a nonce as used for good, also one that was not reserved. Call it before the answer goes out: once it
   * returns, and once the promise that it may return resolves, the nonce stays used even if the process is killed.
   * @param isStored the answer was committed together with the nonce, or is the stored one of the same request
   * @throws JournalUnavailable when the nonce cannot be written, also as a rejection: the nonce stays reserved or
   * used, and no answer may go out except one that the database holds
   * @throws NonceTaken when another process was first, only as a rejection: this answer must not go out
   */
  answered(keyId: string, nonce: string, timestamp: number, isStored?: boolean): Promise<void> | undefined;
  /** How many it remembers; of those in the database, the ones that this process has seen. */
  kept(): number;
  /** Requests signed at or before this time are refused; unix seconds. */
  horizonSeconds(): number;
  /** For a clean stop, after the last answer. */
  close(): void;
}

/** The guard of an api that is the only one, and of each of its threads. All its decisions are synchronous. */
export interface JournalGuard extends ReplayGuard {
  readonly memory: ReplayMemory;
  /**
   * Reads what earlier runs left; call it in one thread, before anything else.
   * @param freshInstall nothing was ever accepted with this database; otherwise a missing journal refuses all requests
   * signed before now + window
   * @returns the horizon, in unix seconds
   * @throws when another process uses the folder
   */
  open(freshInstall: boolean): number;
  /** In each other thread, once the first has opened the journal. It closes its own after them. */
  join(): void;
  /** At once when a thread has died: the others wait for what it had locked. */
  freeLocks(thread: number): void;
  /** Then what it had in flight. What it has answered stays used. */
  freeInFlight(thread: number): void;
  /** Refuses from now on, and after a restart, what was signed at or before this time. @throws when the disk is full */
  raiseHorizon(seconds: number): void;
}

/** A replay guard that keeps its nonces in memory and in a journal on disk. */
export function createReplayGuard({
  journalDir,
  clock,
  log,
  windowSeconds = 300,
  fileBytesMax = journalFileBytesMax,
  fileAgeSecondsMax = journalFileAgeSecondsMax,
  memory = allocateReplayMemory(megabytesDefault, windowSeconds),
  thread = 0,
}: ReplayGuardOptions): JournalGuard {
  const limits = { windowSeconds, fileBytesMax, fileAgeSecondsMax };
  const journal = journalToOpen({ journalDir, clock, log, memory, thread, ...limits });
  const nonces = new NonceTable(memory, thread);
  const steadySeconds = createSteadyTime(clock, windowSeconds * 1000);

  /** Runs before a timestamp is accepted: the horizon after a loss must cover it. */
  function cover(timestamp: number): void {
    const raised = (bounds: UpperBounds) => coveringBounds(bounds, timestamp, steadySeconds());
    if (raised(journal.now().bounds())) journal.now().raise(raised);
  }

  return {
    mode: "journal",
    memory,
    open(freshInstall) {
      nonces.useAll(journal.open(freshInstall));
      return nonces.horizonSeconds;
    },
    join: journal.join,
    freeLocks(dead) {
      freeJournalThread(memory, dead);
      nonces.freeLocks(dead);
    },
    freeInFlight: (dead) => nonces.freeInFlight(dead),

    load: (entries) => nonces.useAll(entries),
    isUsed: (keyId, nonce) => nonces.isTaken(keyId, nonce),

    reserve(keyId, nonce, timestamp) {
      const now = unixSeconds(clock);
      if (Math.abs(timestamp - now) > windowSeconds || timestamp > secondsMax) return false;
      nonces.forgetBefore(Math.min(now, steadySeconds()) - windowSeconds);
      if (timestamp <= nonces.horizonSeconds || !unlessRefused(() => nonces.reserve(keyId, nonce))) return false;
      try {
        unlessRefused(() => {
          cover(timestamp);
          journal.now().makeRoom(nonces.inFlight);
        });
      } catch (error) {
        nonces.release(keyId, nonce);
        throw error;
      }
      // Another thread may have forgotten the nonce since, but not without raising the horizon first.
      if (timestamp > nonces.horizonSeconds) return true;
      nonces.release(keyId, nonce);
      return false;
    },

    release: (keyId, nonce) => nonces.release(keyId, nonce),

    answered(keyId, nonce, timestamp) {
      unlessRefused(() => {
        cover(timestamp);
        journal.now().append({ keyId, nonce, timestamp });
        nonces.use({ keyId, nonce, timestamp });
      });
      if (timestamp <= journal.now().bounds().ceilingSeconds) return undefined;
      return journal.now().sync().catch(refused);
    },

    kept: () => nonces.count(),
    horizonSeconds: () => nonces.horizonSeconds,

    raiseHorizon(seconds) {
      nonces.raiseHorizon(seconds);
      journal.now().raise((bounds) => boundsAtLeast(bounds, seconds, seconds));
    },

    close: journal.close,
  };
}

/** The journal of a guard: it is opened after the guard was made. */
function journalToOpen(options: ReplayJournalOptions) {
  let opened: ReplayJournal | undefined;
  const now = (): ReplayJournal => {
    if (!opened) throw new Error("The replay guard is not open.");
    return opened;
  };
  return {
    now,
    /** @returns what earlier runs have left */
    open(freshInstall: boolean): NonceEntry[] {
      const { journal, entries } = openReplayJournal(options, freshInstall);
      opened = journal;
      return entries;
    },
    join() {
      opened = joinReplayJournal(options);
    },
    close() {
      now().close();
      opened = undefined;
    },
  };
}

function boundsAtLeast({ ceilingSeconds, latestSeconds }: UpperBounds, ceiling: number, latest: number): UpperBounds {
  return { ceilingSeconds: Math.max(ceilingSeconds, ceiling), latestSeconds: Math.max(latestSeconds, latest) };
}

/** @returns undefined when the bounds cover the timestamp */
function coveringBounds(bounds: UpperBounds, timestamp: number, steadySeconds: number): UpperBounds | undefined {
  if (timestamp <= bounds.ceilingSeconds) return undefined;
  const isAhead = timestamp > steadySeconds + aheadSecondsMax;
  if (isAhead && timestamp <= bounds.latestSeconds) return undefined;
  const reached = timestamp + ceilingStepSeconds;
  return boundsAtLeast(bounds, isAhead ? bounds.ceilingSeconds : reached, reached);
}

/** @throws JournalUnavailable for an error of the file system or a full table; any other error is a bug and passes through */
function unlessRefused<Result>(write: () => Result): Result {
  try {
    return write();
  } catch (error) {
    refused(error as Error);
  }
}

function refused(error: Error): never {
  if (error instanceof NoncesFull) throw new JournalUnavailable(error.message, { cause: error });
  const { syscall } = error as NodeJS.ErrnoException;
  if (syscall === undefined) throw error;
  throw new JournalUnavailable(`the journal of used nonces cannot be written: ${error.message}`, { cause: error });
}
