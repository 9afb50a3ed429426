/**
 * What the result codes of a `<renew>` mean (RFC 5730 §3), unless a registry's profile says otherwise. `disputed` are the answers
 * of registries to a curExpDate that is not their exDate, among other things: `<info>` decides.
 */

import type { ChangeEvent } from "#domains/orders/change-states.ts";
import { eventsByCode } from "#domains/orders/send.ts";
import { renewalMeanings } from "#registry/code-meanings.ts";

export type RenewMeaning =
  | Extract<ChangeEvent, "answered" | "pending" | "disputed" | "out-of-credit" | "not-executed" | "unanswered">
  /** It will be refused until somebody changes something. */
  | "operator-needed";

const meanings = eventsByCode<RenewMeaning>({
  answered: [1000],
  pending: [1001],
  "out-of-credit": [2104],
  disputed: [2004, 2105, 2201, 2303, 2304, 2306],
  "operator-needed": [2001, 2003, 2005, 2100, 2101, 2102, 2103, 2106, 2305, 2307, 2308],
  "not-executed": [2002, 2200, 2202, 2501, 2502],
});

/**
 * An unknown code is treated like a lost answer: `<info>` decides.
 * @param overrides the registry profile's meanings, code → meaning; one that a renew cannot have is ignored
 */
export function meaningOfRenew(code: number, overrides: Readonly<Record<string, string>>): RenewMeaning {
  const own = overrides[String(code)];
  if (own !== undefined && renewalMeanings.includes(own)) return own as RenewMeaning;
  return meanings.get(code) ?? "unanswered";
}

/** The event of an order, where the code does not mean what it usually does. */
export function eventOfRenew(code: number, overrides: Readonly<Record<string, string>>): ChangeEvent | undefined {
  const meaning = meaningOfRenew(code, overrides);
  if (meaning !== "operator-needed") return meaning;
  return overrides[String(code)] === meaning ? "failed" : undefined;
}

/** Whether the registry has certainly not executed the renew. */
export const isRefusal = (meaning: RenewMeaning): boolean =>
  ["disputed", "out-of-credit", "not-executed", "operator-needed"].includes(meaning);
