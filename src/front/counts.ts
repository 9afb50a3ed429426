/**
 * What is counted about the requests to a server: by one thread alone, by all threads of a process (thread-counts.ts), or by several
 * processes (shared-counts.ts).
 */
import { createKnownGood, createRateLimiter, type KnownGood, type RateLimiter } from "#front/rate-limit.ts";
import type { RequestWindows } from "#front/request-windows.ts";
import type { SharedCounts } from "#front/shared-counts.ts";
import type { Clock } from "#lib/clock.ts";

export interface Counts {
  /** Requests of resellers. */
  requests: Pick<RateLimiter, "take"> | RequestWindows;
  /** Requests without a signature, of sources. */
  unsigned: RateLimiter;
  /** Failures of sources. */
  failures: RateLimiter;
  knownGood: KnownGood;
  places: Places;
}

/** Places that only one can have at a time. */
export interface Places {
  /** @returns false when it is taken */
  take(place: string): boolean;
  free(place: string): void;
}

export interface CountsOptions {
  clock: Clock;
  windowMs: number;
}

/** The counts of a process with one thread. @param shared what it counts together with other processes */
export function createCounts(options: CountsOptions, shared?: SharedCounts): Counts {
  const failures = createRateLimiter(options);
  return {
    requests: shared?.requests ?? createRateLimiter(options),
    unsigned: createRateLimiter(options),
    failures: shared?.failures(failures) ?? failures,
    knownGood: createKnownGood(options.clock),
    places: createPlaces(),
  };
}

export function createPlaces(): Places {
  const taken = new Set<string>();
  return {
    take(place) {
      if (taken.has(place)) return false;
      taken.add(place);
      return true;
    },
    free(place) {
      taken.delete(place);
    },
  };
}
