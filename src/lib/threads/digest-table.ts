/**
 * A hash table in memory that threads share. A key is 128 bits of SHA-256, so nobody can choose keys that collide. A key can be in one
 * bucket only. Each bucket has a lock, and only the thread that holds it changes the entries of the bucket. The state of an entry is
 * written last: 0 means that it is free, whatever its other words are, so a thread that dies leaves no half of an entry.
 */
import { hash } from "node:crypto";
import { freeLock, markOf, withLock } from "#lib/threads/lock.ts";

/** Large enough that the first bucket is full only when more than half of the table is used; small enough to be searched in 0.1 µs. */
const entriesPerBucket = 64;
const digestWords = 4;
const wordBytes = 4;

export type Digest = readonly [number, number, number, number];

export function digestOf(name: string): Digest {
  // A string of bytes takes 0.4 µs, a buffer 1.2 µs.
  const bytes = hash("sha256", name, "binary");
  return [wordIn(bytes, 0), wordIn(bytes, 4), wordIn(bytes, 8), wordIn(bytes, 12)];
}

function wordIn(bytes: string, at: number): number {
  const byte = (number: number) => bytes.charCodeAt(at + number);
  return byte(0) | (byte(1) << 8) | (byte(2) << 16) | (byte(3) << 24);
}

/** A place in the table. */
export type Entry = number;
/** The state of an entry that belongs to no thread. Others are 0, or the mark of a thread. */
export const nobodys = -1;

const wordsOf = (valueWords: number) => 1 + entriesPerBucket * (1 + digestWords + valueWords);

/** @param valueWords words of each entry besides its state and its key */
export function allocateTable(bytes: number, valueWords: number): SharedArrayBuffer {
  const bucketBytes = wordsOf(valueWords) * wordBytes;
  return new SharedArrayBuffer(Math.max(1, Math.floor(bytes / bucketBytes)) * bucketBytes);
}

/** A thread's view of a table. Everything but `locked`, `freeLocks` and `freeEntries` belongs into the work of `locked`. */
export class DigestTable {
  readonly #words: Int32Array;
  readonly #bucketWords: number;
  readonly #bucketsCount: number;
  readonly #thread: number;

  constructor(memory: SharedArrayBuffer, valueWords: number, thread: number) {
    this.#words = new Int32Array(memory);
    this.#bucketWords = wordsOf(valueWords);
    this.#bucketsCount = this.#words.length / this.#bucketWords;
    this.#thread = thread;
  }

  /** Does the work while no other thread uses the entries that the key can have. */
  locked<Result>(digest: Digest, work: () => Result): Result {
    return withLock(this.#words, this.#bucketOf(digest), this.#thread, work);
  }

  find(digest: Digest): Entry | undefined {
    const words = this.#words;
    const first = this.#bucketOf(digest) + 1;
    for (let entry = first; entry < first + entriesPerBucket; entry++) {
      if (words[entry + entriesPerBucket] === digest[0] && words[entry] !== 0 && this.#has(entry, digest)) return entry;
    }
    return undefined;
  }

  /** An entry of the key's bucket that is free; without one, an entry that may be overwritten. */
  findFree(digest: Digest, isWorthless: (entry: Entry) => boolean): Entry | undefined {
    const first = this.#bucketOf(digest) + 1;
    for (let entry = first; entry < first + entriesPerBucket; entry++) if (this.#words[entry] === 0) return entry;
    for (let entry = first; entry < first + entriesPerBucket; entry++) if (isWorthless(entry)) return entry;
    return undefined;
  }

  /** The entry of the key's bucket with the least value. */
  findLeast(digest: Digest, rank: (entry: Entry) => number): Entry {
    const first = this.#bucketOf(digest) + 1;
    let least = first;
    for (let entry = first; entry < first + entriesPerBucket; entry++) {
      if (rank(entry) < rank(least)) least = entry;
    }
    return least;
  }

  state(entry: Entry): number {
    return Atomics.load(this.#words, entry);
  }

  setState(entry: Entry, state: number): void {
    Atomics.store(this.#words, entry, state);
  }

  /** As an integer of 32 bits without a sign. */
  value(entry: Entry, number: number): number {
    return Atomics.load(this.#words, this.#valueAt(entry, number)) >>> 0;
  }

  setValue(entry: Entry, number: number, value: number): void {
    Atomics.store(this.#words, this.#valueAt(entry, number), value);
  }

  /** Gives an entry to a key. It stays free until it gets a state. */
  rename(entry: Entry, digest: Digest): void {
    this.setState(entry, 0);
    for (let number = 0; number < digestWords; number++) {
      Atomics.store(this.#words, entry + (1 + number) * entriesPerBucket, digest[number]!);
    }
  }

  /** Those of a thread that has died: the others wait for them. */
  freeLocks(thread: number): void {
    for (let bucket = 0; bucket < this.#words.length; bucket += this.#bucketWords)
      freeLock(this.#words, bucket, thread);
  }

  /** Those whose state is the mark of a thread that has died. */
  freeEntries(thread: number): void {
    const mark = markOf(thread);
    for (let bucket = 0; bucket < this.#words.length; bucket += this.#bucketWords) {
      for (let entry = bucket + 1; entry <= bucket + entriesPerBucket; entry++) {
        Atomics.compareExchange(this.#words, entry, mark, 0);
      }
    }
  }

  /** The lock of the key's bucket, which its entries follow. */
  #bucketOf(digest: Digest): number {
    return ((digest[3] >>> 0) % this.#bucketsCount) * this.#bucketWords;
  }

  #valueAt(entry: Entry, number: number): number {
    return entry + (1 + digestWords + number) * entriesPerBucket;
  }

  #has(entry: Entry, digest: Digest): boolean {
    for (let number = 1; number < digestWords; number++) {
      if (this.#words[entry + (1 + number) * entriesPerBucket] !== digest[number]) return false;
    }
    return true;
  }
}
