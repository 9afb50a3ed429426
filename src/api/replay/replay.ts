import { openReplayJournal, type ReplayJournal } from "#api/replay/journal.ts";
import type { NonceEntry } from "#api/replay/nonce-file.ts";
import { nameOf, UsedNonces } from "#api/replay/used-nonces.ts";
import type { NonceMode } from "#config.ts";
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

export interface ReplayGuardOptions {
  /** The folder of the journal: on a local disk, and never restored from a backup. */
  journalDir: string;
  clock: Clock;
  log: Log;
  /** How far a timestamp may be from our clock. */
  windowSeconds?: number;
  fileBytesMax?: number;
  fileAgeSecondsMax?: number;
}

/** The disk or the database cannot record a nonce. The same request may be served later. */
export class JournalUnavailable extends Error {
  override readonly name = "JournalUnavailable";
}

/** Another process has answered a request with this nonce. */
export class NonceTaken extends Error {
  override readonly name = "NonceTaken";
}

/** Accepts each nonce of a key once. It belongs to one process; `reserve` knows only what this process has seen. */
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

/** The guard of an api that is the only one. All its decisions are synchronous. */
export interface JournalGuard extends ReplayGuard {
  /**
   * Reads what earlier runs left; call it before anything else.
   * @param freshInstall nothing was ever accepted with this database; otherwise a missing journal refuses all requests
   * signed before now + window
   * @returns the horizon, in unix seconds
   * @throws when another process uses the folder
   */
  open(freshInstall: boolean): number;
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
}: ReplayGuardOptions): JournalGuard {
  let openedJournal: ReplayJournal | undefined;
  let used = new UsedNonces(0);
  const inFlight = new Set<string>();
  const isTaken = (name: string) => used.has(name) || inFlight.has(name);
  const steadySeconds = createSteadyTime(clock, windowSeconds * 1000);

  function journal(): ReplayJournal {
    if (!openedJournal) throw new Error("The replay guard is not open.");
    return openedJournal;
  }

  /** Runs before a timestamp is accepted: the horizon after a loss must cover it. */
  function cover(timestamp: number): void {
    const raised = coveringBounds(journal().bounds(), timestamp, steadySeconds());
    if (raised) journal().raise({ horizonSeconds: used.horizonSeconds, ...raised });
  }

  return {
    mode: "journal",
    open(freshInstall) {
      const limits = { windowSeconds, fileBytesMax, fileAgeSecondsMax };
      openedJournal = openReplayJournal({ journalDir, clock, log, freshInstall, ...limits });
      used = new UsedNonces(openedJournal.bounds().horizonSeconds);
      used.addAll(openedJournal.entries);
      return used.horizonSeconds;
    },

    load: (entries) => used.addAll(entries),
    isUsed: (keyId, nonce) => isTaken(nameOf(keyId, nonce)),

    reserve(keyId, nonce, timestamp) {
      const now = unixSeconds(clock);
      if (Math.abs(timestamp - now) > windowSeconds) return false;
      used.forgetBefore(Math.min(now, steadySeconds()) - windowSeconds);
      const name = nameOf(keyId, nonce);
      if (timestamp <= used.horizonSeconds || isTaken(name)) return false;
      unlessRefused(() => {
        cover(timestamp);
        journal().makeRoom(inFlight.size + 1);
      });
      inFlight.add(name);
      return true;
    },

    release(keyId, nonce) {
      inFlight.delete(nameOf(keyId, nonce));
    },

    answered(keyId, nonce, timestamp) {
      unlessRefused(() => {
        cover(timestamp);
        journal().append({ keyId, nonce, timestamp });
      });
      const name = nameOf(keyId, nonce);
      inFlight.delete(name);
      used.add(name, timestamp);
      if (timestamp <= journal().bounds().ceilingSeconds) return undefined;
      return journal().sync().catch(refused);
    },

    kept: () => used.size,
    horizonSeconds: () => used.horizonSeconds,

    raiseHorizon(seconds) {
      used.horizonSeconds = Math.max(used.horizonSeconds, seconds);
      journal().raise({ horizonSeconds: used.horizonSeconds, ...boundsAtLeast(journal().bounds(), seconds, seconds) });
    },

    close() {
      journal().close();
      openedJournal = undefined;
    },
  };
}

type UpperBounds = Pick<ReturnType<ReplayJournal["bounds"]>, "ceilingSeconds" | "latestSeconds">;

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

/** @throws JournalUnavailable for an error of the file system; any other error is a bug and passes through */
function unlessRefused(write: () => void): void {
  try {
    write();
  } catch (error) {
    refused(error as Error);
  }
}

function refused(error: Error): never {
  const { syscall } = error as NodeJS.ErrnoException;
  if (syscall === undefined) throw error;
  throw new JournalUnavailable(`the journal of used nonces cannot be written: ${error.message}`, { cause: error });
}
