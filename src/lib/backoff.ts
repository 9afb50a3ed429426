import type { Random } from "#lib/random.ts";

/** The delay doubles from `firstMs` up to `maxMs`. */
export interface BackoffSettings {
  firstMs: number;
  maxMs: number;
}

/**
 * How long to wait before the next attempt. Half of the doubled delay is fixed and the other half random, so that
 * callers that failed at the same time do not return at the same time, and none returns at once.
 * @param attempt the number of failed attempts, from 1
 * @returns whole milliseconds, at most `maxMs`
 */
export function backoffMs(attempt: number, settings: BackoffSettings, random: Random): number {
  const ceilingMs = Math.floor(Math.min(settings.maxMs, settings.firstMs * 2 ** (attempt - 1)));
  const certainMs = Math.floor(ceilingMs / 2);
  return certainMs + random.below(ceilingMs - certainMs + 1);
}
