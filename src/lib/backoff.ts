import type { Random } from "#lib/random.ts";

/** How the delays grow: from `firstMs` doubling up to `maxMs`. */
export interface BackoffSettings {
  firstMs: number;
  maxMs: number;
}

/**
 * How long to wait before the next try: half of the doubled delay for certain, the other half by chance, so that many
 * callers that failed together do not return together, and none returns at once.
 * @param attempt how many tries have failed, from 1
 * @returns whole milliseconds, at most `maxMs`
 */
export function backoffMs(attempt: number, settings: BackoffSettings, random: Random): number {
  const ceilingMs = Math.floor(Math.min(settings.maxMs, settings.firstMs * 2 ** (attempt - 1)));
  const certainMs = Math.floor(ceilingMs / 2);
  return certainMs + random.below(ceilingMs - certainMs + 1);
}
