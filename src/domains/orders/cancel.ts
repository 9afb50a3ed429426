import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import { readCreateAttempts } from "#domains/orders/attempts.ts";
import {
  findOrderByCode,
  happen,
  lockOrder,
  type Order,
  OrderChanged,
  type OrderContext,
} from "#domains/orders/orders.ts";
import { isFinal, nextOrderState, orderState } from "#domains/orders/states.ts";
import { enqueueOrder } from "#queue/enqueue.ts";

// A step that waits because an answer was lost keeps its time: nothing is believed before it is over.
const requestCancel = statement(
  "order-cancel-request",
  `UPDATE registration_orders SET cancel_requested_at = $2, next_step_at = CASE WHEN $3 THEN NULL ELSE next_step_at END
   WHERE id = $1`,
  {},
);

const insertRequest = statement(
  "order-history-cancel-request",
  `INSERT INTO order_history (order_id, at, event, status, phase, note)
   VALUES ($1, $2, 'cancel-requested', $3, $4, 'the operator wants it cancelled')`,
  {},
);

/**
 * Row 22: cancels an order of which nothing can have reached the registry as a create. Both this and the attempt row
 * lock the order's row, so of a cancel and a send at the same time one sees the other.
 * @returns false when it may have been sent
 * @throws OrderChanged
 */
export async function cancelUnsent(context: OrderContext, tx: Transaction, order: Order): Promise<boolean> {
  if (!nextOrderState(orderState(order), "cancel")) return false;
  await lockOrder(tx, order);
  // While the lock is held: an attempt committed before it is seen here, and none can follow.
  if ((await readCreateAttempts(tx, order.id)).unanswered > 0) return false;
  await happen(context, tx, order, { event: "cancel", reason: "cancelled by the operator" });
  return true;
}

/** `cancelling`: it may have reached the registry. What became of it is found out first, and then undone or kept. */
export type CancelResult = "cancelled" | "cancelling" | "unknown" | "ended";

/**
 * Cancels an order, or, rows 23 and 24, writes the wish down on one that may have been sent: its steps heed it
 * (cancel-step.ts).
 */
export async function cancelOrder(context: OrderContext, orderCode: string): Promise<CancelResult> {
  for (;;) {
    const order = await findOrderByCode(context, orderCode);
    if (!order) return "unknown";
    if (isFinal(order.status)) return "ended";
    if (order.cancel_requested_at !== null) return "cancelling";
    try {
      return await context.database.transaction<CancelResult>(async (tx) => {
        if (await cancelUnsent(context, tx, order)) return "cancelled";
        await lockOrder(tx, order);
        const now = context.clock.now();
        const isPending = order.status === "Pending";
        await tx.query(requestCancel, [order.id, now, isPending]);
        await tx.query(insertRequest, [order.id, now, order.status, order.phase]);
        if (isPending) await enqueueOrder(tx, { id: order.id, registryId: order.registry_id }, 0);
        return "cancelling";
      });
    } catch (error) {
      if (!(error instanceof OrderChanged)) throw error;
    }
  }
}
