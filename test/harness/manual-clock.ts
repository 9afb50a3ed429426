import type { Clock } from "#lib/clock.ts";

/** A clock that stands still until a test moves it. */
export interface ManualClock extends Clock {
  /** Advances both times. */
  advance(ms: number): void;
  /** Sets only the time of day, as an operator or NTP does; unix seconds. */
  set(seconds: number): void;
}

export function createManualClock(startSeconds: number): ManualClock {
  let nowMs = startSeconds * 1000;
  let elapsedMs = 0;
  return {
    now: () => new Date(nowMs),
    monotonicMs: () => elapsedMs,
    advance(ms) {
      nowMs += ms;
      elapsedMs += ms;
    },
    set(seconds) {
      nowMs = seconds * 1000;
    },
  };
}
