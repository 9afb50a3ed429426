/** The arithmetic of terms. Registries count calendar years, and treat 29 February in different ways. */

import type { RegistryProfile } from "#registry/registries.ts";

const dayMs = 24 * 60 * 60_000;
const halfYearMs = 183 * dayMs;
/** Two exDates that differ by less are the same: a leap day, a time zone. */
const toleranceMs = 2 * dayMs;

/** The same time of day some years later in UTC; 29 February becomes 28 February where the year has none. */
export function termAfter(date: Date, years: number): Date {
  const moved = new Date(date);
  moved.setUTCFullYear(date.getUTCFullYear() + years);
  if (moved.getUTCMonth() !== date.getUTCMonth()) moved.setUTCDate(0);
  return moved;
}

export function addDays(date: Date, days: number): Date {
  return new Date(date.getTime() + days * dayMs);
}

/** How many whole periods later `exDate` is than `base`: 0 not renewed, 1 renewed, 2 renewed twice (counts no further). */
export function periodsBetween(base: Date, exDate: Date, periodYears: number): 0 | 1 | 2 {
  const isAtLeast = (periods: number) =>
    exDate.getTime() >= termAfter(base, periods * periodYears).getTime() - toleranceMs;
  if (isAtLeast(2)) return 2;
  return isAtLeast(1) ? 1 : 0;
}

/** How many years later `exDate` is than `base`, to the nearest: a registry's dates may differ from ours by some days. */
export function yearsBetween(base: Date, exDate: Date): number {
  return Math.round((exDate.getTime() - base.getTime()) / (2 * halfYearMs));
}

/**
 * Whether `exDate` is the end of a later term than the one that ends at `termEndsAt`. A registry that renews automatically does
 * so for one year, whatever our period, and from its own date, which may differ from ours.
 */
export function isNextTerm(termEndsAt: Date, exDate: Date): boolean {
  return exDate.getTime() - termEndsAt.getTime() > halfYearMs;
}

/**
 * Whether a later exDate may be what the registry has renewed by itself at the end of a term.
 * @param rgpStatuses RFC 3915 §3.1: with `renewPeriod`, a registrar has renewed the name
 */
export function mayBeAutoRenewed(
  { atExpiry }: Pick<RegistryProfile, "atExpiry">,
  { rgpStatuses }: { rgpStatuses: readonly string[] },
  { termEndsAt, now }: { termEndsAt: Date; now: Date },
): boolean {
  return atExpiry === "auto-renew" && now >= termEndsAt && !rgpStatuses.includes("renewPeriod");
}

/** Whether two exDates differ by more than the calendars of two registries do. */
export function isAnotherDate(one: Date, other: Date): boolean {
  return Math.abs(one.getTime() - other.getTime()) > toleranceMs;
}

/** As YYYY-MM-DD, in UTC. */
export const dayOf = (date: Date): string => date.toISOString().slice(0, "YYYY-MM-DD".length);
