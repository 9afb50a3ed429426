/** The nonces that are used or in flight, in memory that the threads of an api share. */
import type { NonceEntry } from "#api/replay/nonce-file.ts";
import { headAt, nonceValueWords, type ReplayMemory, raiseSeconds, readSeconds } from "#api/replay/replay-memory.ts";
import { nameOf } from "#api/replay/used-nonces.ts";
import { type Digest, DigestTable, digestOf, type Entry, nobodys } from "#lib/threads/digest-table.ts";
import { markOf } from "#lib/threads/lock.ts";

/** The others are free, or belong to the thread that has the nonce in flight. */
const used = nobodys;
const secondAt = 0;

/** There is no room for another nonce, and none is forgotten before its time. */
export class NoncesFull extends Error {
  override readonly name = "NoncesFull";
  constructor() {
    super("the table of used nonces is full: DEEDHOUSE_NONCES_MEGABYTES says how large it is");
  }
}

/** A thread's view. */
export class NonceTable {
  readonly #table: DigestTable;
  readonly #head: Int32Array;
  readonly #placesCount: number;
  readonly #mark: number;
  /** What this thread has in flight. An entry does not move. */
  readonly #inFlight = new Map<string, { digest: Digest; entry: Entry }>();
  /** A request asks for its nonce twice at once. */
  #last: { keyId: string; nonce: string; digest: Digest } | undefined;

  constructor({ head, nonces }: ReplayMemory, thread: number) {
    this.#table = new DigestTable(nonces, nonceValueWords, thread);
    this.#head = new Int32Array(head);
    this.#placesCount = (this.#head.length - headAt.seconds) / 2;
    this.#mark = markOf(thread);
  }

  /**
   * The latest timestamp that was really forgotten: a request signed at or before it may have been answered. Never
   * falls.
   */
  get horizonSeconds(): number {
    return readSeconds(this.#head, headAt.horizon);
  }

  raiseHorizon(seconds: number): void {
    raiseSeconds(this.#head, headAt.horizon, seconds);
  }

  /** How many this thread has. */
  get inFlight(): number {
    return this.#inFlight.size;
  }

  isTaken(keyId: string, nonce: string): boolean {
    const digest = this.#digest(keyId, nonce);
    return this.#table.locked(digest, () => this.#find(digest) !== undefined);
  }

  /** @returns false when it is taken @throws NoncesFull */
  reserve(keyId: string, nonce: string): boolean {
    const digest = this.#digest(keyId, nonce);
    const entry = this.#table.locked(digest, () => {
      if (this.#find(digest) !== undefined) return undefined;
      const free = this.#freeEntry(digest);
      this.#table.setState(free, this.#mark);
      return free;
    });
    if (entry === undefined) return false;
    this.#inFlight.set(nameOf(keyId, nonce), { digest, entry });
    return true;
  }

  /** Frees it, if it is in flight here and not used. */
  release(keyId: string, nonce: string): void {
    const name = nameOf(keyId, nonce);
    const own = this.#inFlight.get(name);
    if (!own) return;
    this.#inFlight.delete(name);
    this.#table.locked(own.digest, () => {
      if (this.#table.state(own.entry) === this.#mark) this.#table.setState(own.entry, 0);
    });
  }

  /** Marks a nonce as used until its second is forgotten. @throws NoncesFull, unless it is in flight */
  use({ keyId, nonce, timestamp: second }: NonceEntry): void {
    if (second <= this.horizonSeconds) {
      this.release(keyId, nonce);
      return;
    }
    const name = nameOf(keyId, nonce);
    const own = this.#inFlight.get(name);
    const digest = own?.digest ?? this.#digest(keyId, nonce);
    this.#table.locked(digest, () => {
      const entry = own?.entry ?? this.#find(digest) ?? this.#freeEntry(digest);
      if (this.#table.state(entry) === used) return;
      // This comes before the state: the thread that forgets this second must find it.
      this.#addToSecond(second);
      this.#table.setValue(entry, secondAt, second);
      this.#table.setState(entry, used);
    });
    this.#inFlight.delete(name);
  }

  /** The nonces of committed writes, or of a journal. What does not fit lies below the horizon instead. */
  useAll(entries: Iterable<NonceEntry>): void {
    for (const entry of entries) {
      try {
        this.use(entry);
      } catch (error) {
        if (!(error instanceof NoncesFull)) throw error;
        this.raiseHorizon(entry.timestamp);
      }
    }
  }

  /**
   * Forgets the used nonces with an earlier timestamp. What was signed at or before the horizon is refused anyway, so the entries of such
   * nonces may be overwritten. Runs once a second, in time proportional to the seconds kept.
   */
  forgetBefore(oldestSeconds: number): void {
    if (Atomics.exchange(this.#head, headAt.forgottenBefore, oldestSeconds | 0) >>> 0 === oldestSeconds) return;
    for (let place = 0; place < this.#placesCount; place++) {
      const at = this.#placeAt(place);
      const second = readSeconds(this.#head, at);
      if (second === 0 || second >= oldestSeconds) continue;
      this.raiseHorizon(second);
      Atomics.store(this.#head, at + 1, 0);
      Atomics.compareExchange(this.#head, at, second | 0, 0);
    }
  }

  /** How many are used, and not forgotten. */
  count(): number {
    const { horizonSeconds } = this;
    let count = 0;
    for (let place = 0; place < this.#placesCount; place++) {
      const at = this.#placeAt(place);
      if (readSeconds(this.#head, at) > horizonSeconds) count += Atomics.load(this.#head, at + 1);
    }
    return count;
  }

  /** Of a thread that has died. */
  freeLocks(thread: number): void {
    this.#table.freeLocks(thread);
  }

  /** What a thread that has died had in flight. */
  freeInFlight(thread: number): void {
    this.#table.freeEntries(thread);
  }

  #digest(keyId: string, nonce: string): Digest {
    const last = this.#last;
    if (last && last.nonce === nonce && last.keyId === keyId) return last.digest;
    const digest = digestOf(nameOf(keyId, nonce));
    this.#last = { keyId, nonce, digest };
    return digest;
  }

  #isForgotten(entry: Entry): boolean {
    return this.#table.state(entry) === used && this.#table.value(entry, secondAt) <= this.horizonSeconds;
  }

  #find(digest: Digest): Entry | undefined {
    const entry = this.#table.find(digest);
    return entry !== undefined && this.#isForgotten(entry) ? undefined : entry;
  }

  /** @throws NoncesFull */
  #freeEntry(digest: Digest): Entry {
    // A forgotten entry of the same nonce would be found in place of the new one.
    const entry = this.#table.find(digest) ?? this.#table.findFree(digest, (entry) => this.#isForgotten(entry));
    if (entry === undefined) throw new NoncesFull();
    this.#table.rename(entry, digest);
    return entry;
  }

  /** @throws NoncesFull */
  #addToSecond(second: number): void {
    for (let tries = 0; tries < this.#placesCount; tries++) {
      const at = this.#placeAt((second + tries) % this.#placesCount);
      const found = Atomics.compareExchange(this.#head, at, 0, second | 0);
      if (found !== 0 && found >>> 0 !== second) continue;
      Atomics.add(this.#head, at + 1, 1);
      return;
    }
    throw new NoncesFull();
  }

  #placeAt(place: number): number {
    return headAt.seconds + 2 * place;
  }
}
