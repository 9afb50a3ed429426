import { nextRenewalState, type RenewalEvent } from "#domains/renewals/states.ts";

/**
 * What a `<renew>`'s result code means for a renewal (RFC 5730 §3), where a registry's profile says nothing else.
 * `disputed` are those with which registries answer a curExpDate that is not their exDate, and more: info decides.
 */
const renewEvents: Readonly<Record<number, RenewalEvent>> = {
  1000: "answered",
  1001: "pending",
  2001: "operator-needed",
  2002: "not-executed",
  2003: "operator-needed",
  2004: "disputed",
  2005: "operator-needed",
  2100: "operator-needed",
  2101: "operator-needed",
  2102: "operator-needed",
  2103: "operator-needed",
  2104: "out-of-credit",
  2105: "disputed",
  2106: "operator-needed",
  2200: "not-executed",
  2201: "disputed",
  2202: "not-executed",
  2303: "disputed",
  2304: "disputed",
  2305: "operator-needed",
  2306: "disputed",
  2307: "operator-needed",
  2308: "operator-needed",
  2501: "not-executed",
  2502: "not-executed",
};

/** The same for the `<delete>` of a name that the registry has renewed by itself. */
const deleteEvents: Readonly<Record<number, RenewalEvent>> = {
  1000: "answered",
  1001: "answered",
  2001: "operator-needed",
  2002: "not-executed",
  2003: "operator-needed",
  2005: "operator-needed",
  2100: "operator-needed",
  2101: "operator-needed",
  2102: "operator-needed",
  2103: "operator-needed",
  2200: "not-executed",
  2202: "not-executed",
  2304: "operator-needed",
  2305: "operator-needed",
  2306: "operator-needed",
  2307: "operator-needed",
  2308: "operator-needed",
  2501: "not-executed",
  2502: "not-executed",
};

/**
 * The event of a renew's result code. A code that nobody has described is treated like a lost answer: the name is looked
 * at before anything else is done.
 * @param overrides the registry profile's own meanings, code → event; one that a renew cannot have counts for nothing
 */
export function eventOfRenew(code: number, overrides: Readonly<Record<string, string>>): RenewalEvent {
  const own = overrides[String(code)] as RenewalEvent | undefined;
  if (own !== undefined && nextRenewalState("Processing (renew)", own)) return own;
  return renewEvents[code] ?? "unanswered";
}

/** The same for a delete; 2303 and 2201, too, are looked at: the name may be gone already. */
export function eventOfDelete(code: number): RenewalEvent {
  return deleteEvents[code] ?? "unanswered";
}
