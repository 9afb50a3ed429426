/** An operator's requests to live orders. The order's next step carries them out, in the process that owns the registry's sessions. */
import { statement } from "#db/statement.ts";
import { findOrderByCode, type Order, type OrderContext, orderTable } from "#domains/orders/orders.ts";
import { requestOf } from "#domains/orders/request.ts";
import { isFinal, isSettleable, orderState } from "#domains/orders/states.ts";
import { isInDoubt } from "#domains/registry/ask.ts";
import { OperatorError } from "#operator-error.ts";

const findOpenCircuit = statement(
  "order-circuit-open",
  "SELECT circuit_open_until FROM registries WHERE id = $registry_id AND circuit_open_until > $now",
  { circuit_open_until: "timestamptz?" },
);

const settleProgress = statement(
  "order-settle-progress",
  `SELECT o.status, o.settle_as IS NOT NULL AS is_waiting, o.next_step_at,
     (SELECT note FROM order_history WHERE order_id = o.id AND event = 'settle-refused' ORDER BY id DESC LIMIT 1) AS refusal
   FROM registration_orders AS o WHERE o.id = $order_id`,
  { status: "text", is_waiting: "bool", next_step_at: "timestamptz?", refusal: "text?" },
);

/** @throws OperatorError when there is no such order */
export async function getOrder(context: OrderContext, code: string): Promise<Order> {
  const order = await findOrderByCode(context, code);
  if (!order) throw new OperatorError("not-found", "there is no order with this code");
  return order;
}

const changeOrder = (
  context: OrderContext,
  code: string,
  change: (order: Order) => Promise<Date | null> | Date | null,
): Promise<Order> =>
  requestOf(
    context,
    orderTable,
    () => getOrder(context, code),
    async (order) => ({ nextStepAt: (await change(order)) ?? undefined }),
  );

/**
 * Whether a step may run at once. After a lost answer nothing is believed before the settle time is over, so that wait is never
 * cut short. Once a later step has failed (the backoff counts), it is over.
 */
function maySkipWait({ backoff_count, attempts }: Order): boolean {
  return backoff_count > 0 || !isInDoubt(attempts);
}

/**
 * Makes an order's next step due now.
 * @throws OperatorError when there is no such order, it has ended, its registry is away, or its wait must not be cut short
 */
export async function retryOrder(context: OrderContext, code: string): Promise<void> {
  await changeOrder(context, code, async (order) => {
    const { registry_id: id } = order;
    const now = context.clock.now();
    const [away] = await context.database.query(findOpenCircuit, { registry_id: id, now });
    if (away) {
      const until = away.circuit_open_until?.toISOString();
      const advice = `deedhouse registry probe ${id} connects now, and its orders continue if that succeeds`;
      throw new OperatorError("refused", `the registry ${id} is away; the next attempt is at ${until}: ${advice}`);
    }
    if (maySkipWait(order)) return now;
    const until = order.next_step_at?.toISOString() ?? "its next step";
    const why = "an answer of the registry was lost, and until then the command may still be executed";
    throw new OperatorError("refused", `the order waits until ${until}: ${why}`);
  });
}

export interface Settlement {
  as: "registered" | "failed";
  note: string;
  /** Fails the order although the registry holds the name for us, or cannot be asked. */
  isForced: boolean;
}

/**
 * Settles an order; its next step compares that with what the registry shows. Returns the order's id, for `findSettleProgress`.
 * @throws OperatorError when there is no such order, or its state cannot be settled
 */
export async function requestSettlement(
  context: OrderContext,
  code: string,
  { as, note, isForced }: Settlement,
): Promise<number> {
  const { id } = await changeOrder(context, code, (order) => {
    const state = orderState(order);
    if (!isSettleable(state)) {
      const advice = "only an order that is verified, cancelled or pending can be settled";
      throw new OperatorError("refused", `the order is in state ${state}: ${advice}. This one can be cancelled`);
    }
    order.settle_as = as === "failed" && isForced ? "failed-forced" : as;
    order.settle_note = note;
    const { status, phase } = order;
    order.unwritten.push({ event: "settle-requested", status, phase, note });
    return maySkipWait(order) ? context.clock.now() : order.next_step_at;
  });
  return id;
}

export type SettleProgress =
  | { is: "settled"; status: string }
  | { is: "refused"; reason: string }
  | { is: "waiting"; until: Date | null };

/** Whether a requested settlement was applied. */
export async function findSettleProgress(context: OrderContext, orderId: number): Promise<SettleProgress> {
  const [row] = await context.database.query(settleProgress, { order_id: orderId });
  if (!row) throw new Error("the order is gone");
  if (isFinal(row.status)) return { is: "settled", status: row.status };
  if (row.is_waiting) return { is: "waiting", until: row.next_step_at };
  return { is: "refused", reason: row.refusal ?? "the order continued before the settlement was applied" };
}
