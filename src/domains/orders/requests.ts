/** What an operator asks of an order that lives. The order's own step does it, where the registry's sessions are. */
import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import { findOrderByCode, lockOrder, type Order, OrderChanged, type OrderContext } from "#domains/orders/orders.ts";
import { isFinal, isSettleable, orderState } from "#domains/orders/states.ts";
import { OperatorError } from "#operator-error.ts";
import { enqueueOrder } from "#queue/enqueue.ts";

// While an answer is lost nothing is believed before the settle time is over: that wait is never cut short. Once a
// step has failed after it (the backoff counts), it is over. A step that is at work sees that the time is another one.
const hurry = statement(
  "order-hurry",
  `UPDATE registration_orders AS o SET next_step_at = CASE WHEN next_step_at > $2 THEN NULL ELSE $2::timestamptz END
   WHERE id = $1 AND (backoff_count > 0 OR NOT EXISTS (SELECT FROM order_attempts AS attempt
     WHERE attempt.order_id = o.id AND answered_at IS NULL AND command IN ('domain:create', 'domain:delete')))
   RETURNING id`,
  { id: "int8" },
);

const findOpenCircuit = statement(
  "order-circuit-open",
  "SELECT circuit_open_until FROM registries WHERE id = $1 AND circuit_open_until > $2",
  { circuit_open_until: "timestamptz?" },
);

const requestSettle = statement(
  "order-settle-request",
  `WITH history AS (
     INSERT INTO order_history (order_id, at, event, status, phase, note) VALUES ($1, $2, 'settle-requested', $3, $4, $6))
   UPDATE registration_orders SET settle_as = $5, settle_note = $6 WHERE id = $1`,
  {},
);

const settleProgress = statement(
  "order-settle-progress",
  `SELECT o.status, o.settle_as IS NOT NULL AS is_waiting, o.next_step_at,
     (SELECT note FROM order_history WHERE order_id = o.id AND event = 'settle-refused' ORDER BY id DESC LIMIT 1) AS refusal
   FROM registration_orders AS o WHERE o.id = $1`,
  { status: "text", is_waiting: "bool", next_step_at: "timestamptz?", refusal: "text?" },
);

/** @throws OperatorError when there is no such order */
export async function getOrder(context: OrderContext, code: string): Promise<Order> {
  const order = await findOrderByCode(context, code);
  if (!order) throw new OperatorError("not-found", "there is no order with this code");
  return order;
}

/** The order, locked, for as long as `work` runs. @throws OperatorError when there is none, or it has ended */
async function withLiveOrder(
  context: OrderContext,
  code: string,
  work: (tx: Transaction, order: Order) => Promise<void>,
): Promise<Order> {
  for (;;) {
    const order = await getOrder(context, code);
    if (isFinal(order.status)) {
      throw new OperatorError("refused", `the order has ended already, as ${order.status}: nothing can change it`);
    }
    try {
      await context.database.transaction(async (tx) => {
        await lockOrder(tx, order);
        await work(tx, order);
      });
      return order;
    } catch (error) {
      if (!(error instanceof OrderChanged)) throw error;
    }
  }
}

/**
 * Lets an order's next step come now instead of after its delay.
 * @throws OperatorError when there is no such order, it has ended, its registry is away, or its wait must not be cut short
 */
export async function retryOrder(context: OrderContext, code: string): Promise<void> {
  await withLiveOrder(context, code, async (tx, order) => {
    const [away] = await tx.query(findOpenCircuit, [order.registry_id, context.clock.now()]);
    if (away) {
      const [id, until] = [order.registry_id, away.circuit_open_until?.toISOString()];
      const advice = `deedhouse registry probe ${id} tries now, and lets its orders go on`;
      throw new OperatorError("refused", `the registry ${id} is away, and is tried again at ${until}: ${advice}`);
    }
    const [hurried] = await tx.query(hurry, [order.id, context.clock.now()]);
    if (!hurried) {
      const until = order.next_step_at?.toISOString() ?? "its next step";
      const why = "an answer of the registry is lost, and before that time the command may still be executed";
      throw new OperatorError("refused", `the order waits until ${until}: ${why}`);
    }
    await enqueueOrder(tx, { id: order.id, registryId: order.registry_id }, 0);
  });
}

export interface Settlement {
  as: "registered" | "failed";
  note: string;
  /** Fails the order although the registry holds the name for us, or cannot be asked. */
  isForced: boolean;
}

/**
 * Says what became of an order; its next step holds that against the registry. Returns the order's id, for
 * `findSettleProgress`.
 * @throws OperatorError when there is no such order, or it is in no state that a person may settle
 */
export async function requestSettlement(
  context: OrderContext,
  code: string,
  { as, note, isForced }: Settlement,
): Promise<number> {
  const { id } = await withLiveOrder(context, code, async (tx, order) => {
    const state = orderState(order);
    if (!isSettleable(state)) {
      const advice = "only one that asks what became of its name, or is pending, can be settled";
      throw new OperatorError("refused", `the order is in state ${state}: ${advice}. This one can be cancelled`);
    }
    const settleAs = as === "failed" && isForced ? "failed-forced" : as;
    const { id, status, phase, registry_id: registryId } = order;
    await tx.query(requestSettle, [id, context.clock.now(), status, phase, settleAs, note]);
    if ((await tx.query(hurry, [id, context.clock.now()])).length > 0) await enqueueOrder(tx, { id, registryId }, 0);
  });
  return id;
}

export type SettleProgress =
  | { is: "settled"; status: string }
  | { is: "refused"; reason: string }
  | { is: "waiting"; until: Date | null };

/** What has become of a settlement that was asked for. */
export async function findSettleProgress(context: OrderContext, orderId: number): Promise<SettleProgress> {
  const [row] = await context.database.query(settleProgress, [orderId]);
  if (!row) throw new Error("the order is gone");
  if (isFinal(row.status)) return { is: "settled", status: row.status };
  if (row.is_waiting) return { is: "waiting", until: row.next_step_at };
  return { is: "refused", reason: row.refusal ?? "the order went on by itself" };
}
