import { type Clock, systemClock } from "#lib/clock.ts";

export interface SteeredClock extends Clock {
  /** Advances the time of day; durations are measured as before. */
  skip(hours: number): void;
}

/** The real clock, moved ahead by a test's hours. */
export function createSteeredClock(): SteeredClock {
  let aheadMs = 0;
  return {
    now: () => new Date(systemClock.now().getTime() + aheadMs),
    monotonicMs: () => systemClock.monotonicMs(),
    skip(hours) {
      aheadMs += hours * 3_600_000;
    },
  };
}
