import { statement } from "#db/statement.ts";
import { findOrder, happen, lockOrder, OrderChanged, type OrderContext, readCreateAttempts } from "#domains/orders.ts";
import { isFinal, nextOrderState, orderState } from "#domains/states.ts";

const orderIdByCode = statement("order-id-by-code", "SELECT id FROM registration_orders WHERE order_code = $1", {
  id: "int8",
});

export type CancelResult = "cancelled" | "unknown" | "ended" | "possibly-sent";

/**
 * Row 22: cancels an order of which nothing can have reached the registry as a create. Both this and the attempt row
 * lock the order's row, so of a cancel and a send at the same time one sees the other.
 */
export async function cancelOrder(context: OrderContext, orderCode: string): Promise<CancelResult> {
  for (;;) {
    const [row] = await context.database.query(orderIdByCode, [orderCode]);
    const order = row && (await findOrder(context, row.id));
    if (!order) return "unknown";
    if (isFinal(order.status)) return "ended";
    if (!nextOrderState(orderState(order), "cancel")) return "possibly-sent";
    try {
      return await context.database.transaction<CancelResult>(async (tx) => {
        await lockOrder(tx, order);
        // While the lock is held: an attempt committed before it is seen here, and none can follow.
        const attempts = await readCreateAttempts(tx, order.id);
        if (attempts.unanswered > 0) return "possibly-sent";
        await happen(context, tx, order, { event: "cancel", reason: "cancelled by the operator" });
        return "cancelled";
      });
    } catch (error) {
      if (!(error instanceof OrderChanged)) throw error;
    }
  }
}
