import { ChangeConflict } from "#domains/orders/change.ts";
import { isUnsent } from "#domains/orders/machine.ts";
import { findOrderByCode, type OrderContext, orderTable } from "#domains/orders/orders.ts";
import { isFinal } from "#domains/orders/states.ts";
import { write } from "#domains/orders/write.ts";

/** `cancelling`: the create may have reached the registry. The order's steps find out, and then delete or keep the name. */
export type CancelResult = "cancelled" | "cancelling" | "unknown" | "ended";

/**
 * Cancels an order, or writes the request on one whose create may have been sent: its steps carry it out (cancel-step.ts). An
 * attempt increments the order's version, so of a cancel and a send at the same time one sees the other.
 */
export async function cancelOrder(context: OrderContext, orderCode: string): Promise<CancelResult> {
  for (;;) {
    const order = await findOrderByCode(context, orderCode);
    if (!order) return "unknown";
    const { status, phase } = order;
    if (isFinal(status)) return "ended";
    if (order.cancel_requested_at !== null) return "cancelling";
    try {
      if (isUnsent(order)) {
        await write(context, orderTable, order, { event: "cancel", reason: "cancelled by the operator" });
        return "cancelled";
      }
      order.cancel_requested_at = context.clock.now();
      order.unwritten.push({ event: "cancel-requested", status, phase, note: "the operator asked to cancel it" });
      // A step that waits after a lost answer keeps its time: nothing is believed before that.
      const nextStepAt = status === "Pending" ? undefined : (order.next_step_at ?? undefined);
      await write(context, orderTable, order, { nextStepAt });
      return "cancelling";
    } catch (error) {
      if (!(error instanceof ChangeConflict)) throw error;
    }
  }
}
