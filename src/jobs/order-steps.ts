/** The steps of one registry's orders: one at a time for each order. */
import { raiseAlarm, resolveAlarm } from "#alarms.ts";
import { DatabaseUnavailable } from "#db/errors.ts";
import { findOrder } from "#domains/orders/orders.ts";
import { advanceOrder } from "#domains/orders/steps.ts";
import { LeaseLost } from "#domains/registry/owner-lease.ts";
import type { RegistrySessions } from "#domains/registry/sessions.ts";
import { oneAtATime } from "#jobs/one-at-a-time.ts";

/** A step that fails so often in a row, and not for want of the database, will not mend itself. */
const failuresToleratedMax = 1;

/** What the payload of an order's job says; or, of a new order, its notification. */
export interface OrderStep {
  orderId: number;
  /** If it is known: it spares a statement. */
  resellerId?: number;
}

/** @returns what takes an order as far as it goes now; it throws when that is to be tried again */
export function orderSteps(sessions: RegistrySessions): (step: OrderStep) => Promise<void> {
  const advance = oneAtATime((id, resellerId?: number) => advanceOrder(sessions, id, resellerId));
  const failures = new Map<number, number>();
  return async ({ orderId, resellerId }) => {
    try {
      await advance(orderId, resellerId);
      if (failures.delete(orderId)) await resolveAlarm(sessions.context, await failureOf(sessions, orderId));
    } catch (error) {
      const count = (failures.get(orderId) ?? 0) + 1;
      if (error instanceof LeaseLost) throw error;
      if (!(error instanceof DatabaseUnavailable)) failures.set(orderId, count);
      if (count > failuresToleratedMax) {
        const note = "its step fails again and again, by a fault of ours: the worker's log says which";
        await raiseAlarm(sessions.context, { ...(await failureOf(sessions, orderId)), note });
      }
      throw error;
    }
  };
}

async function failureOf({ context }: RegistrySessions, orderId: number) {
  const order = await findOrder(context, orderId);
  return { kind: "order-step", subject: order?.order_code ?? String(orderId) } as const;
}
