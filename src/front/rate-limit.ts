import { DatabaseUnavailable } from "#db/errors.ts";
import { type Clock, dayMs } from "#lib/clock.ts";
import { sourceOf } from "#lib/net/source-address.ts";
import { createSourceTurns } from "#lib/queues/source-turns.ts";

/** The state of a caller's window of requests. */
export interface RateLimit {
  allowed: boolean;
  limit: number;
  /** Requests counted so far; stops at the limit. */
  usage: number;
  remaining: number;
  /** Seconds until the full limit is available again: at least 1 while something is counted, else 0. */
  resetSeconds: number;
}

/** The four headers of every answer. */
export function rateLimitHeaders({ limit, usage, remaining, resetSeconds }: RateLimit): Record<string, string> {
  return {
    "x-ratelimit-limit": String(limit),
    "x-ratelimit-usage": String(usage),
    "x-ratelimit-remaining": String(remaining),
    "x-ratelimit-reset": String(resetSeconds),
  };
}

export interface RateLimiter {
  /** Counts requests of `key`, one by default; counts nothing if they exceed the limit. */
  take(key: string, limit: number, count?: number): RateLimit;
  /** The state of `key`; `allowed` says whether its next request would be allowed. */
  peek(key: string, limit: number): RateLimit;
}

/** What is counted of a caller. */
export interface RateWindow {
  endsMs: number;
  usage: number;
}

/** @param window undefined when nothing is counted */
export function rateLimitOf(
  window: RateWindow | undefined,
  { allowed, limit, nowMs }: { allowed: boolean; limit: number; nowMs: number },
): RateLimit {
  const usage = Math.min(window?.usage ?? 0, limit);
  const resetSeconds = window ? Math.max(1, Math.ceil((window.endsMs - nowMs) / 1000)) : 0;
  return { allowed, limit, usage, remaining: limit - usage, resetSeconds };
}

/** Beyond this number, the oldest windows are dropped. */
export const rateWindowsMax = 200_000;

/** Fixed windows of one length. Each begins with the first request of an idle key. */
export function createRateLimiter({ clock, windowMs }: { clock: Clock; windowMs: number }): RateLimiter {
  const windows = createExpiringMap<RateWindow>({
    clock,
    keepMs: windowMs,
    max: rateWindowsMax,
  });

  return {
    take(key, limit, count = 1) {
      let window = windows.get(key);
      if (!window) {
        window = { endsMs: clock.monotonicMs() + windowMs, usage: 0 };
        windows.set(key, window);
      }
      const allowed = window.usage + count <= limit;
      if (allowed) window.usage += count;
      return rateLimitOf(window, { allowed, limit, nowMs: clock.monotonicMs() });
    },

    peek(key, limit) {
      const window = windows.get(key);
      const allowed = (window?.usage ?? 0) < limit;
      return rateLimitOf(window, { allowed, limit, nowMs: clock.monotonicMs() });
    },
  };
}

/** Which pairs of a source and a key were good lately. */
export interface KnownGood {
  has(pair: string): boolean;
  add(pair: string): void;
}

export interface SourceBudgetOptions {
  failures: RateLimiter;
  knownGood: KnownGood;
  /** 401s allowed for one source address in a window. */
  failuresMax: number;
  /** Further 401s for one key that was good from that source recently. */
  knownGoodFailuresMax: number;
}

/**
 * Counts 401s by source address, so that guessing costs no HMAC. A client cannot lock out its neighbours behind the same NAT.
 */
export interface SourceBudget {
  /**
   * The source's state, or that of the key's budget when the source's is used up. If it is not `allowed`, refuse the request.
   */
  check(address: string, keyId?: string): RateLimit;
  /** Records a request that was answered with 401. */
  noteFailure(address: string, keyId?: string): RateLimit;
  /** Records that the key was verified from this address. */
  noteGood(address: string, keyId: string): void;
  /** Runs a lookup that the check of a request needs: a few at once for each source. @throws as `SourceTurns.take` */
  lookUp<T>(address: string, work: () => Promise<T>): Promise<T>;
  /**
   * Runs work that may itself fail the check: no more at once than the source has failures left. The work begins with a
   * `check`. @throws as `SourceTurns.take`
   */
  guess<T>(address: string, work: () => Promise<T>): Promise<T>;
}

/** For one source; a lookup takes under 1 ms (measured). */
const lookUpsAtOnceMax = 16;

/** How long a key counts as good from an address after its last good request. */
export const knownGoodMs = dayMs;
export const knownGoodMax = 100_000;

export function createKnownGood(clock: Clock): KnownGood {
  const known = createExpiringMap<true>({ clock, keepMs: knownGoodMs, max: knownGoodMax });
  return { has: (pair) => known.get(pair) ?? false, add: (pair) => known.set(pair, true) };
}

/**
 * A budget of failures for each source: an IPv4 address, or the /64 of an IPv6 address, which one subscriber controls.
 */
export function createSourceBudget(options: SourceBudgetOptions): SourceBudget {
  const { failures, knownGood, failuresMax, knownGoodFailuresMax } = options;
  // What waits for a database that is away would wait just as long for the same failure.
  const turns = createSourceTurns((error) => error instanceof DatabaseUnavailable);

  /** The key of the budget that pays, and its size. */
  function payer(address: string, keyId: string | undefined): [key: string, limit: number] {
    const source = sourceOf(address);
    if (keyId !== undefined && !failures.peek(source, failuresMax).allowed) {
      const pair = `${source} ${keyId}`;
      if (knownGood.has(pair)) return [pair, knownGoodFailuresMax];
    }
    return [source, failuresMax];
  }

  return {
    check: (address, keyId) => failures.peek(...payer(address, keyId)),
    noteFailure: (address, keyId) => failures.take(...payer(address, keyId)),
    noteGood: (address, keyId) => knownGood.add(`${sourceOf(address)} ${keyId}`),
    lookUp: (address, work) => turns.take(sourceOf(address), () => lookUpsAtOnceMax, work),
    guess(address, work) {
      const source = sourceOf(address);
      const mayFail = () => failures.peek(source, failuresMax).remaining;
      return turns.take(source, () => Math.min(lookUpsAtOnceMax, mayFail()), work);
    },
  };
}

/**
 * Entries that end `keepMs` after they were set, or earlier when there are more than `max`. They live in two
 * generations, and the older one is dropped whole: dropping the oldest entries of a single Map walks over all deleted
 * ones.
 */
export function createExpiringMap<Value>({ clock, keepMs, max }: { clock: Clock; keepMs: number; max: number }) {
  type Generation = Map<string, { value: Value; endsMs: number }>;
  let older: Generation = new Map();
  let younger: Generation = new Map();
  let changeMs = clock.monotonicMs() + keepMs;

  return {
    get(key: string): Value | undefined {
      const entry = younger.get(key) ?? older.get(key);
      return entry && entry.endsMs > clock.monotonicMs() ? entry.value : undefined;
    },
    set(key: string, value: Value): void {
      const nowMs = clock.monotonicMs();
      if (nowMs >= changeMs || younger.size >= max / 2) {
        older = younger;
        younger = new Map();
        changeMs = nowMs + keepMs;
      }
      younger.set(key, { value, endsMs: nowMs + keepMs });
    },
  };
}
