/** Where "now" comes from. Code asks its context for a clock, so that tests can move time. */
export interface Clock {
  /** The current time. */
  now(): Date;
  /** Milliseconds that never go back: for measuring durations, meaningless as a date. */
  monotonicMs(): number;
}

export const systemClock: Clock = {
  now: () => new Date(),
  monotonicMs: () => performance.now(),
};

/** Seconds since 1970-01-01T00:00:00Z, whole, as the signature's timestamp counts them. */
export function unixSeconds(clock: Clock): number {
  return Math.floor(clock.now().getTime() / 1000);
}

/** Waits, but not past an abort: resolves early (never rejects) when `signal` fires. */
export function sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const finish = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", finish);
      resolve();
    };
    const timer = setTimeout(finish, delayMs);
    signal?.addEventListener("abort", finish, { once: true });
  });
}

/**
 * Waits until a promise is settled, the time is over or `signal` fires, whichever comes first. Leaves no timer behind: one
 * that still ran would keep a process that has done everything else from ending.
 */
export async function waitAtMost(delayMs: number, promise: Promise<unknown>, signal?: AbortSignal): Promise<void> {
  const over = new AbortController();
  try {
    await Promise.race([promise, sleep(delayMs, AbortSignal.any([over.signal, ...(signal ? [signal] : [])]))]);
  } finally {
    over.abort();
  }
}
