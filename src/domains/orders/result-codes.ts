import { nextOrderState, type OrderEvent } from "#domains/orders/states.ts";

/** What a `<create>`'s result code means for an order (RFC 5730 §3), where a registry's profile says nothing else. */
const createEvents: Readonly<Record<number, OrderEvent>> = {
  1000: "created",
  1001: "create-pending",
  2001: "rejected",
  2002: "not-executed",
  2003: "rejected",
  2004: "rejected",
  2005: "rejected",
  2100: "operator-needed",
  2101: "operator-needed",
  2102: "operator-needed",
  2103: "operator-needed",
  2104: "out-of-credit",
  2200: "not-executed",
  2201: "operator-needed",
  2202: "not-executed",
  2302: "exists",
  2303: "rejected",
  2304: "rejected",
  2305: "rejected",
  2306: "rejected",
  2307: "operator-needed",
  2308: "rejected",
  2400: "unanswered",
  2500: "unanswered",
  2501: "not-executed",
  2502: "not-executed",
};

/**
 * The order event of a create's result code. A code that nobody has described is treated like a lost answer: the name
 * is looked up before anything else is done.
 * @param overrides the registry profile's own meanings, code → event; one that a create cannot have counts for nothing
 */
export function eventOfCreate(code: number, overrides: Readonly<Record<string, string>>): OrderEvent {
  const own = overrides[String(code)] as OrderEvent | undefined;
  if (own !== undefined && nextOrderState("Processing (create)", own)) return own;
  return createEvents[code] ?? "unanswered";
}

const deleteEvents: Readonly<Record<number, OrderEvent>> = {
  1000: "deleted",
  1001: "delete-pending",
  2002: "not-executed",
  2200: "not-executed",
  2202: "not-executed",
  // There is no such object any more.
  2303: "deleted",
  2400: "unanswered",
  2500: "unanswered",
  2501: "not-executed",
  2502: "not-executed",
};

/** The order event of a `<delete>`'s result code; every other failure (RFC 5730 §3) is a refusal. */
export function eventOfDelete(code: number): OrderEvent {
  return deleteEvents[code] ?? (code >= 2000 && code < 2400 ? "delete-refused" : "unanswered");
}
