/** The source of the current time. Code takes a clock from its context, so that tests can move time. */
export interface Clock {
  /** The current time. */
  now(): Date;
  /** Milliseconds that never go back: for measuring durations; they are not a date. */
  monotonicMs(): number;
}

/** `performance.now()` begins with a thread. The times of all threads of a process can be compared. */
const threadBeganMs = Number(process.hrtime.bigint()) / 1_000_000 - performance.now();

export const systemClock: Clock = {
  now: () => new Date(),
  monotonicMs: () => threadBeganMs + performance.now(),
};

/** Whole seconds since 1970-01-01T00:00:00Z, as in a signature's timestamp. */
export function unixSeconds(clock: Clock): number {
  return Math.floor(clock.now().getTime() / 1000);
}

/** Waits for `delayMs`, or until `signal` fires; not at all when that time has passed already (below 0). Never rejects. */
export function sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const finish = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", finish);
      resolve();
    };
    // Node warns of a negative delay.
    const timer = setTimeout(finish, Math.max(0, delayMs));
    signal?.addEventListener("abort", finish, { once: true });
  });
}

/**
 * Waits until a promise settles, the time is over or `signal` fires, whichever comes first. It leaves no timer behind:
 * a running timer would keep a finished process from exiting.
 */
export async function waitAtMost(delayMs: number, promise: Promise<unknown>, signal?: AbortSignal): Promise<void> {
  const over = new AbortController();
  try {
    await Promise.race([promise, sleep(delayMs, AbortSignal.any([over.signal, ...(signal ? [signal] : [])]))]);
  } finally {
    over.abort();
  }
}

export const dayMs = 24 * 60 * 60_000;
/** 3:23 UTC, when comparisons with registries and nodes begin: after midnight, and not with everybody else's jobs. */
const nightMs = (3 * 60 + 23) * 60_000;

/** When the last night began, at or before `now`. */
export function nightBefore(now: Date): Date {
  const todayMs = Math.floor(now.getTime() / dayMs) * dayMs + nightMs;
  return new Date(todayMs <= now.getTime() ? todayMs : todayMs - dayMs);
}
