/** The rows of the tables of orders that orders have passed, from their histories. */

import { changes, type OrderTable, registrations } from "./order-tables.ts";
import type { Stage } from "./stage.ts";

const byNumber = (one: string, other: string) => Number.parseInt(one, 10) - Number.parseInt(other, 10);

const rowsOf = ({ transitions }: OrderTable) => [...new Set(transitions.map(({ row }) => row))];

/** The rows of registrations. */
export const allRows: readonly string[] = rowsOf(registrations).sort(byNumber);

/** All rows of orders about registered names. */
export const changeRows: readonly string[] = rowsOf(changes).sort(byNumber);

/**
 * Counts the rows that these orders have passed.
 * @throws Error when a history has an event that is not in the table
 */
export async function readRowsPassed(
  { query }: Pick<Stage, "query">,
  table: OrderTable,
  codes: readonly string[],
): Promise<Map<string, number>> {
  const histories = await query<{ domain_name: string; events: string[] }>(
    `SELECT domain_name, array_agg(event ORDER BY h.id) AS events
     FROM orders AS o JOIN order_history AS h ON h.order_id = o.id
     WHERE order_code = ANY($1) GROUP BY o.id`,
    [codes],
  );
  const passed = new Map<string, number>();
  const count = (row: string) => passed.set(row, (passed.get(row) ?? 0) + 1);
  const known = new Set(table.transitions.map(({ event }) => event));
  for (const { domain_name, events } of histories) {
    let state = "NotProvisioned";
    for (const event of events) {
      if (!known.has(event)) continue;
      const transition = table.transitions.find((one) => one.from === state && one.event === event);
      if (!transition) throw new Error(`${domain_name}: its history has "${event}" in ${state}: ${events.join(", ")}`);
      count(transition.row);
      state = transition.to;
    }
  }
  return passed;
}
