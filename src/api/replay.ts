import { type NonceEntry, openReplayJournal, type ReplayJournal } from "#api/replay-journal.ts";
import { type Clock, unixSeconds } from "#lib/clock.ts";
import type { Log } from "#lib/log.ts";

// A nonce is remembered while its timestamp can be presented. What is forgotten lies at or below the horizon, and the
// horizon never falls, so a clock that is set back reopens nothing. Time alone forgets nothing either: that happens when
// a verified request is reserved, whose timestamp agrees with our clock. A clock that jumps ahead for a moment thus
// refuses requests for that moment only.

const ceilingStepSeconds = 10;
/** About a million entries. */
const journalFileBytesMax = 64 * 1024 * 1024;
const journalFileAgeSecondsMax = 600;

export interface ReplayGuardOptions {
  /** The folder of the journal: on a disk of this machine, and never restored from a backup. */
  journalDir: string;
  clock: Clock;
  log: Log;
  /** How far a timestamp may be from our clock. */
  windowSeconds?: number;
  fileBytesMax?: number;
  fileAgeSecondsMax?: number;
}

/** Lets each nonce of a key through once. For one process; all calls are synchronous. */
export interface ReplayGuard {
  /**
   * Reads what earlier runs left; everything else can be called after it.
   * @param freshInstall nothing was ever accepted under this database; otherwise a missing journal refuses all
   * requests signed before now + window
   * @returns the horizon, in unix seconds
   * @throws when another process uses the folder
   */
  open(freshInstall: boolean): number;
  /** Adds the nonces of writes that the database has committed. */
  load(entries: Iterable<NonceEntry>): void;
  /** Whether the nonce was answered or is in flight. */
  isUsed(keyId: string, nonce: string): boolean;
  /**
   * Takes a nonce for a verified request.
   * @returns false when it is used or in flight, or its timestamp outside the window or at or below the horizon by now:
   * refuse the request
   * @throws when the ceiling can't be written to disk
   */
  reserve(keyId: string, nonce: string, timestamp: number): boolean;
  /** Frees a reserved nonce: the answer is 429 or 5xx and nothing was committed. */
  release(keyId: string, nonce: string): void;
  /**
   * Makes a nonce used for good; also one that was not reserved. Call it before the answer goes out: from its return on,
   * the nonce stays used even when the process is killed.
   * @throws when the journal can't be written: the nonce stays reserved, and the answer must not go out
   */
  answered(keyId: string, nonce: string, timestamp: number): void;
  /** Timestamps at or below are refused; unix seconds. */
  horizonSeconds(): number;
  /** For a clean stop, after the last answer. */
  close(): void;
}

/** A replay guard that keeps its nonces in memory and in a journal on disk. */
export function createReplayGuard({
  journalDir,
  clock,
  log,
  windowSeconds = 300,
  fileBytesMax = journalFileBytesMax,
  fileAgeSecondsMax = journalFileAgeSecondsMax,
}: ReplayGuardOptions): ReplayGuard {
  let openedJournal: ReplayJournal | undefined;
  let horizon = 0;
  const inFlight = new Set<string>();
  const used = new Set<string>();
  /** The same nonces by their timestamp, to forget a second at once. */
  const usedBySecond = new Map<number, string[]>();

  function journal(): ReplayJournal {
    if (!openedJournal) throw new Error("The replay guard is not open.");
    return openedJournal;
  }

  function remember({ keyId, nonce, timestamp }: NonceEntry): void {
    const name = nameOf(keyId, nonce);
    if (timestamp <= horizon || used.has(name)) return;
    used.add(name);
    const second = usedBySecond.get(timestamp);
    if (second) second.push(name);
    else usedBySecond.set(timestamp, [name]);
  }

  function forgetBefore(oldestSeconds: number): void {
    if (oldestSeconds <= horizon + 1) return;
    horizon = oldestSeconds - 1;
    for (const [second, names] of usedBySecond) {
      if (second > horizon) continue;
      for (const name of names) used.delete(name);
      usedBySecond.delete(second);
    }
  }

  /** Before a timestamp is accepted: a loss must be answered with a horizon that covers it. */
  function raiseCeiling(timestamp: number): void {
    if (timestamp <= journal().bounds().ceilingSeconds) return;
    journal().raise({ horizonSeconds: horizon, ceilingSeconds: timestamp + ceilingStepSeconds });
  }

  return {
    open(freshInstall) {
      const limits = { windowSeconds, fileBytesMax, fileAgeSecondsMax };
      openedJournal = openReplayJournal({ journalDir, clock, log, freshInstall, ...limits });
      horizon = openedJournal.bounds().horizonSeconds;
      for (const entry of openedJournal.entries) remember(entry);
      return horizon;
    },

    load(entries) {
      for (const entry of entries) remember(entry);
    },

    isUsed(keyId, nonce) {
      const name = nameOf(keyId, nonce);
      return used.has(name) || inFlight.has(name);
    },

    reserve(keyId, nonce, timestamp) {
      const now = unixSeconds(clock);
      if (Math.abs(timestamp - now) > windowSeconds) return false;
      forgetBefore(now - windowSeconds);
      const name = nameOf(keyId, nonce);
      if (timestamp <= horizon || used.has(name) || inFlight.has(name)) return false;
      raiseCeiling(timestamp);
      inFlight.add(name);
      return true;
    },

    release(keyId, nonce) {
      inFlight.delete(nameOf(keyId, nonce));
    },

    answered(keyId, nonce, timestamp) {
      raiseCeiling(timestamp);
      journal().append({ keyId, nonce, timestamp });
      inFlight.delete(nameOf(keyId, nonce));
      remember({ keyId, nonce, timestamp });
    },

    horizonSeconds: () => horizon,

    close() {
      journal().close();
      openedJournal = undefined;
    },
  };
}

function nameOf(keyId: string, nonce: string): string {
  return `${keyId}:${nonce}`;
}
