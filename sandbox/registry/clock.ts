import { setTimeout as wait } from "node:timers/promises";

const dayMs = 24 * 60 * 60_000;

/** The machine's time: the default for `now`. */
export const systemNow = (): Date => new Date();

/**
 * The registry's time: the system's, or a test's, plus an offset that only grows. An event runs at its due time, however late
 * the registry gets to it, so its consequences have the dates that they would have had on time.
 */
export class VirtualClock {
  readonly #underlyingNow: () => Date;
  #offsetMs: number;
  #pinnedMs: number | undefined;

  constructor(underlyingNow: () => Date, offsetMs: number) {
    this.#underlyingNow = underlyingNow;
    this.#offsetMs = offsetMs;
  }

  readonly now = (): Date => new Date(this.#pinnedMs ?? this.#underlyingNow().getTime() + this.#offsetMs);

  /** Runs `act` with `now` fixed at that time. */
  doAt(timeMs: number, act: () => void): void {
    this.#pinnedMs = timeMs;
    try {
      act();
    } finally {
      this.#pinnedMs = undefined;
    }
  }

  setOffset(offsetMs: number): void {
    this.#offsetMs = offsetMs;
  }
}

/** Waits `delayMs`; resolves early, and never rejects, when `signal` fires. */
export async function sleep(delayMs: number, signal: AbortSignal): Promise<void> {
  await wait(delayMs, undefined, { signal }).catch(() => undefined);
}

/** The same time of day `months` later in UTC; a day that the month lacks becomes its last day (29 → 28 February). */
export function addMonths(date: Date, months: number): Date {
  const moved = new Date(date);
  const day = moved.getUTCDate();
  moved.setUTCDate(1);
  moved.setUTCMonth(moved.getUTCMonth() + months);
  const daysInMonth = new Date(Date.UTC(moved.getUTCFullYear(), moved.getUTCMonth() + 1, 0)).getUTCDate();
  moved.setUTCDate(Math.min(day, daysInMonth));
  return moved;
}

export function addMs(date: Date, ms: number): Date {
  return new Date(date.getTime() + ms);
}

/** `days` days of 24 hours later, or earlier if negative. */
export function addDays(date: Date, days: number): Date {
  return addMs(date, days * dayMs);
}
