import type { Clock } from "../sdk/clock.ts";

/** A clock that never waits: a sleep advances its time and is reported to `onSleep`. */
export function instantClock(onSleep: (delayMs: number) => void = () => {}): Clock {
  let elapsedMs = 0;
  return {
    now: () => new Date(1_800_000_000_000 + elapsedMs),
    monotonicMs: () => elapsedMs,
    async sleep(delayMs, signal) {
      signal?.throwIfAborted();
      onSleep(delayMs);
      elapsedMs += delayMs;
    },
  };
}
