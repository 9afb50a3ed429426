/** The client's source of time; tests pass one that does not wait. */
export interface Clock {
  /** The current time, for the signature's timestamp. */
  now(): Date;
  /** Milliseconds that never go back: for deadlines; they are not a date. */
  monotonicMs(): number;
  /** Waits `delayMs`; rejects with the signal's reason when `signal` fires first. */
  sleep(delayMs: number, signal?: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  now: () => new Date(),
  monotonicMs: () => performance.now(),
  sleep: (delayMs, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const abort = () => {
        clearTimeout(timer);
        reject(signal?.reason);
      };
      const timer = setTimeout(() => {
        signal?.removeEventListener("abort", abort);
        resolve();
      }, delayMs);
      signal?.addEventListener("abort", abort, { once: true });
    }),
};
