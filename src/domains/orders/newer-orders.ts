/**
 * The newest order counts. An order whose command was refused for now, or was lost and not executed, lets others pass, and tries
 * again later: by then a newer one of its kind may have set what it sets.
 */
import { statement } from "#db/statement.ts";
import type { OrderKind } from "#domains/orders/kind.ts";
import type { Order } from "#domains/orders/order.ts";
import type { RegistrySessions } from "#domains/registry/sessions.ts";

const newerOrders = statement(
  "orders-newer",
  `SELECT order_code, input, ended_at IS NOT NULL AS is_finished FROM orders
   WHERE domain_name = $name AND kind = $kind AND id > $id AND (status = 'Finished' OR ended_at IS NULL AND $counts_open::bool)
   ORDER BY id`,
  { order_code: "text", input: "jsonb", is_finished: "bool" },
);

/**
 * Takes from an order's input the fields that newer orders of its kind have set. The end of a newer one changes the row's version,
 * so that nothing is sent if it comes after this query.
 * @returns the code of the newer order that leaves nothing to send
 */
export async function yieldToNewer(
  { context }: RegistrySessions,
  order: Order,
  { isUrgent, isEachDone, isByField }: OrderKind,
): Promise<string | undefined> {
  // One that has sent nothing was replaced when the newer one was placed, unless its kind is never replaced.
  if (isUrgent || (order.attempts.length === 0 && !isEachDone)) return undefined;
  const { id, domain_name: name, kind } = order;
  const newer = await context.database.query(newerOrders, { id, name, kind, counts_open: !isEachDone });
  const last = newer.at(-1)?.order_code;
  if (!isByField || last === undefined) return last;
  const wanted = order.input as object;
  const set = Object.assign({}, ...newer.map(({ input }) => input));
  // An open one waits while a command of this one may be executed, so what was sent and what is proved have the same fields.
  const finished = newer.filter(({ is_finished }) => is_finished);
  order.input = without(wanted, Object.assign({}, ...finished.map(({ input }) => input)));
  return Object.keys(without(wanted, set)).length === 0 ? last : undefined;
}

const without = (input: object, fields: object) =>
  Object.fromEntries(Object.entries(input).filter(([field]) => !(field in fields)));
