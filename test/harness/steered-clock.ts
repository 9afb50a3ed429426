import { type Clock, systemClock } from "#lib/clock.ts";

export interface SteeredClock extends Clock {
  /** Moves the time of day ahead; durations are measured as before. */
  skip(hours: number): void;
}

/** The real clock, some hours ahead when a test says so. */
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
