import { statement } from "#db/statement.ts";
import {
  findOrderByCode,
  happen,
  lockOrder,
  OrderChanged,
  type OrderContext,
  readCreateAttempts,
} from "#domains/orders.ts";
import { isFinal, nextOrderState, orderState } from "#domains/states.ts";
import { enqueueOrder } from "#jobs/enqueue.ts";

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

/** `cancelling`: it may have reached the registry. What became of it is found out first, and then undone or kept. */
export type CancelResult = "cancelled" | "cancelling" | "unknown" | "ended";

/**
 * Row 22: cancels an order of which nothing can have reached the registry as a create. Both this and the attempt row
 * lock the order's row, so of a cancel and a send at the same time one sees the other. Rows 23 and 24: of any other
 * order that lives the wish is written down, which its steps heed (cancel-step.ts).
 */
export async function cancelOrder(context: OrderContext, orderCode: string): Promise<CancelResult> {
  for (;;) {
    const order = await findOrderByCode(context, orderCode);
    if (!order) return "unknown";
    if (isFinal(order.status)) return "ended";
    if (order.cancel_requested_at !== null) return "cancelling";
    try {
      return await context.database.transaction<CancelResult>(async (tx) => {
        await lockOrder(tx, order);
        // While the lock is held: an attempt committed before it is seen here, and none can follow.
        const attempts = await readCreateAttempts(tx, order.id);
        if (nextOrderState(orderState(order), "cancel") && attempts.unanswered === 0) {
          await happen(context, tx, order, { event: "cancel", reason: "cancelled by the operator" });
          return "cancelled";
        }
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
