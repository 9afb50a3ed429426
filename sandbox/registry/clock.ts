import { setTimeout as wait } from "node:timers/promises";

/** The machine's time: the default where no other `now` is given. */
export const systemNow = (): Date => new Date();

/** Waits `delayMs`; resolves early (never rejects) when `signal` fires. */
export async function sleep(delayMs: number, signal: AbortSignal): Promise<void> {
  await wait(delayMs, undefined, { signal }).catch(() => undefined);
}

/** The same time of day `months` later in UTC; a day the target month lacks becomes its last one (29 → 28 February). */
export function addMonths(date: Date, months: number): Date {
  const moved = new Date(date);
  const day = moved.getUTCDate();
  moved.setUTCDate(1);
  moved.setUTCMonth(moved.getUTCMonth() + months);
  const daysInMonth = new Date(Date.UTC(moved.getUTCFullYear(), moved.getUTCMonth() + 1, 0)).getUTCDate();
  moved.setUTCDate(Math.min(day, daysInMonth));
  return moved;
}
