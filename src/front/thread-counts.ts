/** The counts of the threads of a process, in memory that they share: a limit is that of all of them together. */
import type { Counts, CountsOptions, Places } from "#front/counts.ts";
import {
  type KnownGood,
  knownGoodMax,
  knownGoodMs,
  type RateLimiter,
  type RateWindow,
  rateLimitOf,
  rateWindowsMax,
} from "#front/rate-limit.ts";
import type { Clock } from "#lib/clock.ts";
import { allocateTable, type Digest, DigestTable, digestOf, type Entry, nobodys } from "#lib/threads/digest-table.ts";
import { markOf } from "#lib/threads/lock.ts";

export interface CountsMemory {
  requests: SharedArrayBuffer;
  unsigned: SharedArrayBuffer;
  failures: SharedArrayBuffer;
  knownGood: SharedArrayBuffer;
  places: SharedArrayBuffer;
}

/** Of a window: how much is counted, and its end in milliseconds, whose upper half comes second. */
const windowWords = 3;
const valueAt = { usage: 0, endsLow: 1, endsHigh: 2 } as const;
const halfOfMs = 2 ** 32;
/** An entry's state and key have as many words as a window has, and two more; and a table may be half full. */
const windowBytes = 64;
/** More than connections. */
const placesBytes = 1024 * 1024;

export function allocateCounts(): CountsMemory {
  const windows = (count: number) => allocateTable(count * windowBytes, windowWords);
  return {
    requests: windows(rateWindowsMax),
    unsigned: windows(rateWindowsMax),
    failures: windows(rateWindowsMax),
    knownGood: windows(knownGoodMax),
    places: allocateTable(placesBytes, 0),
  };
}

/** @param thread the number of this thread */
export function joinCounts(memory: CountsMemory, thread: number, { clock, windowMs }: CountsOptions): Counts {
  const limiter = (name: "requests" | "unsigned" | "failures") =>
    createLimiter(new SharedWindows(memory[name], thread, { clock, windowMs }));
  return {
    requests: limiter("requests"),
    unsigned: limiter("unsigned"),
    failures: limiter("failures"),
    knownGood: createKnownGood(new SharedWindows(memory.knownGood, thread, { clock, windowMs: knownGoodMs })),
    places: createPlaces(memory.places, thread),
  };
}

/** Frees the places of a thread that has died. What it has counted stays counted. */
export function freeCountsThread(memory: CountsMemory, thread: number): void {
  for (const name of ["requests", "unsigned", "failures", "knownGood"] as const) {
    new DigestTable(memory[name], windowWords, thread).freeLocks(thread);
  }
  const places = new DigestTable(memory.places, 0, thread);
  places.freeLocks(thread);
  places.freeEntries(thread);
}

/** Callers send many requests. */
const digestsMax = 10_000;

/** Windows by caller. Of those that share a bucket, the one that ends first is dropped when there is no room. */
class SharedWindows {
  readonly #table: DigestTable;
  readonly #clock: Clock;
  readonly #windowMs: number;
  readonly #digests = new Map<string, Digest>();

  constructor(memory: SharedArrayBuffer, thread: number, { clock, windowMs }: CountsOptions) {
    this.#table = new DigestTable(memory, windowWords, thread);
    this.#clock = clock;
    this.#windowMs = windowMs;
  }

  nowMs(): number {
    return this.#clock.monotonicMs();
  }

  /** The window that has not ended. */
  find(key: string): RateWindow | undefined {
    const digest = this.#digest(key);
    return this.#table.locked(digest, () => {
      const entry = this.#find(digest);
      return entry === undefined ? undefined : this.#read(entry);
    });
  }

  /** Begins a window if there is none, and counts as many as `change` says. @returns the window as it is then */
  count(key: string, change: (window: RateWindow) => number): RateWindow {
    const digest = this.#digest(key);
    return this.#table.locked(digest, () => {
      const entry = this.#find(digest) ?? this.#begin(digest);
      const window = this.#read(entry);
      const usage = window.usage + change(window);
      this.#table.setValue(entry, valueAt.usage, usage);
      return { ...window, usage };
    });
  }

  /** It ends a whole length from now. */
  prolong(key: string): void {
    const digest = this.#digest(key);
    this.#table.locked(digest, () => {
      this.#setEnd(this.#find(digest) ?? this.#begin(digest));
    });
  }

  #find(digest: Digest): Entry | undefined {
    const entry = this.#table.find(digest);
    return entry === undefined || this.#hasEnded(entry) ? undefined : entry;
  }

  #begin(digest: Digest): Entry {
    const entry =
      this.#table.find(digest) ??
      this.#table.findFree(digest, (entry) => this.#hasEnded(entry)) ??
      this.#table.findLeast(digest, (entry) => this.#endsMs(entry));
    this.#table.rename(entry, digest);
    this.#table.setValue(entry, valueAt.usage, 0);
    this.#setEnd(entry);
    this.#table.setState(entry, nobodys);
    return entry;
  }

  #read(entry: Entry): RateWindow {
    return { usage: this.#table.value(entry, valueAt.usage), endsMs: this.#endsMs(entry) };
  }

  #setEnd(entry: Entry): void {
    const endsMs = Math.round(this.nowMs() + this.#windowMs);
    this.#table.setValue(entry, valueAt.endsLow, (endsMs % halfOfMs) | 0);
    this.#table.setValue(entry, valueAt.endsHigh, Math.floor(endsMs / halfOfMs));
  }

  #hasEnded(entry: Entry): boolean {
    return this.#endsMs(entry) <= this.nowMs();
  }

  #endsMs(entry: Entry): number {
    return this.#table.value(entry, valueAt.endsHigh) * halfOfMs + this.#table.value(entry, valueAt.endsLow);
  }

  #digest(key: string): Digest {
    const known = this.#digests.get(key);
    if (known) return known;
    if (this.#digests.size >= digestsMax) this.#digests.clear();
    const digest = digestOf(key);
    this.#digests.set(key, digest);
    return digest;
  }
}

function createLimiter(windows: SharedWindows): RateLimiter {
  return {
    take(key, limit, count = 1) {
      let allowed = false;
      const window = windows.count(key, ({ usage }) => {
        allowed = usage + count <= limit;
        return allowed ? count : 0;
      });
      return rateLimitOf(window, { allowed, limit, nowMs: windows.nowMs() });
    },
    peek(key, limit) {
      const window = windows.find(key);
      return rateLimitOf(window, { allowed: (window?.usage ?? 0) < limit, limit, nowMs: windows.nowMs() });
    },
  };
}

function createKnownGood(windows: SharedWindows): KnownGood {
  return { has: (pair) => windows.find(pair) !== undefined, add: (pair) => windows.prolong(pair) };
}

function createPlaces(memory: SharedArrayBuffer, thread: number): Places {
  const table = new DigestTable(memory, 0, thread);
  return {
    take(place) {
      const digest = digestOf(place);
      return table.locked(digest, () => {
        if (table.find(digest) !== undefined) return false;
        const entry = table.findFree(digest, () => false);
        if (entry === undefined) return false;
        table.rename(entry, digest);
        table.setState(entry, markOf(thread));
        return true;
      });
    },
    free(place) {
      const digest = digestOf(place);
      table.locked(digest, () => {
        const entry = table.find(digest);
        if (entry !== undefined && table.state(entry) === markOf(thread)) table.setState(entry, 0);
      });
    },
  };
}
