/** What the result codes of a create mean. */
import { eventsByCode } from "#domains/orders/send.ts";
import { nextOrderState, type OrderEvent } from "#domains/orders/states.ts";

/** What the result codes of a `<create>` mean (RFC 5730 §3), unless a registry's profile says otherwise. */
const createEvents = eventsByCode<OrderEvent>({
  created: [1000],
  "create-pending": [1001],
  rejected: [2001, 2003, 2004, 2005, 2303, 2304, 2305, 2306, 2308],
  "operator-needed": [2100, 2101, 2102, 2103, 2201, 2307],
  "out-of-credit": [2104],
  "not-executed": [2002, 2200, 2202, 2501, 2502],
  exists: [2302],
});

/**
 * The event of a create's result code. An unknown code is treated like a lost answer: `<info>` decides.
 * @param overrides the registry profile's meanings, code → event; one that a create cannot have is ignored
 */
export function eventOfCreate(code: number, overrides: Readonly<Record<string, string>>): OrderEvent {
  const own = overrides[String(code)] as OrderEvent | undefined;
  if (own !== undefined && nextOrderState("Processing (create)", own)) return own;
  return createEvents.get(code) ?? "unanswered";
}
