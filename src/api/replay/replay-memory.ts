/**
 * What the threads of an api share about nonces: the table of nonces, the bounds and the files of the journal. Seconds are integers of 32
 * bits without a sign, which last until 2106.
 */
import { allocateTable } from "#lib/threads/digest-table.ts";

/** The second that was signed. */
export const nonceValueWords = 1;
/** Files of the journal at the same time: with a million nonces each, more than any table holds. */
export const filesMax = 4_096;
export const fileWords = 4;

/** Places of the words in `head`. */
export const headAt = {
  /** The lock of the journal's state and files. */
  lock: 0,
  horizon: 1,
  ceiling: 2,
  latest: 3,
  /** Up to where seconds were last forgotten. */
  forgottenBefore: 4,
  /** Here pairs begin: a second, and how many nonces of it are used. */
  seconds: 8,
} as const;

export interface ReplayMemory {
  head: SharedArrayBuffer;
  nonces: SharedArrayBuffer;
  files: SharedArrayBuffer;
}

const megabyte = 1024 * 1024;
const secondsMin = 1_024;
/** Timestamps of two windows, ahead and behind; twice as many after a jump of the clock; and half of the places free. */
const placesPerWindowSecond = 8;

export function allocateReplayMemory(megabytes: number, windowSeconds: number): ReplayMemory {
  const places = 2 ** Math.ceil(Math.log2(Math.max(secondsMin, placesPerWindowSecond * windowSeconds)));
  const words = (count: number) => new SharedArrayBuffer(count * Int32Array.BYTES_PER_ELEMENT);
  return {
    head: words(headAt.seconds + 2 * places),
    nonces: allocateTable(megabytes * megabyte, nonceValueWords),
    files: words(filesMax * fileWords),
  };
}

export const readSeconds = (head: Int32Array, at: number): number => Atomics.load(head, at) >>> 0;

/** Never lets a word fall. */
export function raiseSeconds(head: Int32Array, at: number, seconds: number): void {
  for (let known = Atomics.load(head, at); known >>> 0 < seconds; ) {
    const found = Atomics.compareExchange(head, at, known, seconds | 0);
    if (found === known) return;
    known = found;
  }
}
