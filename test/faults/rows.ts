/** The rows of the order table that orders have passed, from their histories. */
import {
  nextOrderState,
  type OrderEvent,
  type OrderState,
  orderEvents,
  orderTransitions,
} from "#domains/orders/states.ts";
import type { Stage } from "./stage.ts";

/** All rows: "1" is the POST, which is not in the table of transitions. */
export const allRows: readonly string[] = [...new Set(["1", ...orderTransitions.map(({ row }) => row)])].sort(
  (one, other) => Number.parseInt(one, 10) - Number.parseInt(other, 10) || one.localeCompare(other),
);

/**
 * Counts the rows that the orders of these names have passed.
 * @throws Error when a history has an event that is not in the table
 */
export async function readRowsPassed(stage: Stage, names: string[]): Promise<Map<string, number>> {
  const histories = await stage.query<{ domain_name: string; events: string[] }>(
    `SELECT domain_name, array_agg(event ORDER BY h.id) AS events
     FROM registration_orders AS o JOIN order_history AS h ON h.order_id = o.id
     WHERE domain_name = ANY($1) GROUP BY o.id`,
    [names],
  );
  const passed = new Map<string, number>();
  const count = (row: string) => passed.set(row, (passed.get(row) ?? 0) + 1);
  for (const { domain_name, events } of histories) {
    let state: OrderState = "NotProvisioned";
    for (const event of events) {
      if (event === "requested") count("1");
      if (!(orderEvents as readonly string[]).includes(event)) continue;
      const transition = nextOrderState(state, event as OrderEvent);
      if (!transition) throw new Error(`${domain_name}: its history has "${event}" in ${state}: ${events.join(", ")}`);
      count(transition.row);
      state = transition.to;
    }
  }
  return passed;
}
