import { ChangeConflict } from "#domains/changes/change.ts";
import { writeIn } from "#domains/changes/write.ts";
import { isUnsent } from "#domains/orders/machine.ts";
import { findOrderByCode, type OrderContext, orderTable } from "#domains/orders/orders.ts";
import { isFinal } from "#domains/orders/states.ts";

/** `cancelling`: it may have reached the registry. What became of it is found out first, and then undone or kept. */
export type CancelResult = "cancelled" | "cancelling" | "unknown" | "ended";

/**
 * Cancels an order, or, rows 23 and 24, writes the wish down on one that may have been sent: its steps heed it
 * (cancel-step.ts). An attempt counts the order's version up, so of a cancel and a send at the same time one sees the other.
 */
export async function cancelOrder(context: OrderContext, orderCode: string): Promise<CancelResult> {
  for (;;) {
    const order = await findOrderByCode(context, orderCode);
    if (!order) return "unknown";
    const { status, phase } = order;
    if (isFinal(status)) return "ended";
    if (order.cancel_requested_at !== null) return "cancelling";
    const isOver = isUnsent(order);
    try {
      await context.database.transaction(async (tx) => {
        if (isOver) {
          await writeIn(context, tx, orderTable, order, { event: "cancel", reason: "cancelled by the operator" });
          return;
        }
        order.cancel_requested_at = context.clock.now();
        order.unwritten.push({ event: "cancel-requested", status, phase, note: "the operator wants it cancelled" });
        // A step that waits because an answer was lost keeps its time: nothing is believed before it is over.
        const nextStepAt = status === "Pending" ? undefined : (order.next_step_at ?? undefined);
        await writeIn(context, tx, orderTable, order, { nextStepAt });
      });
      return isOver ? "cancelled" : "cancelling";
    } catch (error) {
      if (!(error instanceof ChangeConflict)) throw error;
    }
  }
}
