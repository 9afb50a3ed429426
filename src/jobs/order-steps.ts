/** The orders of one registry as jobs: one step at a time for each, and none without a job. */
import { DatabaseUnavailable } from "#db/errors.ts";
import { statement } from "#db/statement.ts";
import { raiseAlarm, resolveAlarm } from "#domains/alarms.ts";
import { findOrder } from "#domains/orders.ts";
import type { RegistrySessions } from "#domains/registry-sessions.ts";
import { advanceOrder } from "#domains/steps.ts";
import { enqueueOrder } from "#jobs/enqueue.ts";
import { oneAtATime } from "#jobs/one-at-a-time.ts";

const forgottenOrders = statement(
  "orders-forgotten",
  `SELECT id FROM registration_orders AS o
   WHERE registry_id = $1 AND status IN ('NotProvisioned', 'Processing', 'Pending')
     AND NOT EXISTS (SELECT FROM graphile_worker.jobs AS job WHERE job.key = 'order:' || o.id
       AND (job.locked_at IS NOT NULL OR job.run_at <= now() OR o.next_step_at > $2::timestamptz))`,
  { id: "int8" },
);

/**
 * An order without a job would wait for ever, and one that is due would wait for hours when its job failed often: the
 * queue's own delay grows to six hours. Whatever happened, the owner finds them. One that has time puts itself off.
 */
export async function enqueueForgotten({ context, profile }: RegistrySessions): Promise<void> {
  for (const { id } of await context.database.query(forgottenOrders, [profile.id, context.clock.now()])) {
    await enqueueOrder(context.database, { id, registryId: profile.id }, 0);
  }
}

/** A step that fails so often in a row, and not for want of the database, will not mend itself. */
const failuresToleratedMax = 1;

export function orderStepTask(sessions: RegistrySessions): (payload: unknown) => Promise<void> {
  const advance = oneAtATime((id, resellerId?: number) => advanceOrder(sessions, id, resellerId));
  const failures = new Map<number, number>();
  return async (payload) => {
    const { orderId, resellerId } = payload as { orderId: number; resellerId?: number };
    try {
      await advance(orderId, resellerId);
      if (failures.delete(orderId)) await resolveAlarm(sessions.context, await failureOf(sessions, orderId));
    } catch (error) {
      const count = (failures.get(orderId) ?? 0) + 1;
      if (!(error instanceof DatabaseUnavailable)) failures.set(orderId, count);
      if (count > failuresToleratedMax) {
        const note = "its step fails again and again, by a fault of ours: the worker's log says which";
        await raiseAlarm(sessions.context, { ...(await failureOf(sessions, orderId)), note });
      }
      // The queue tries again.
      throw error;
    }
  };
}

async function failureOf({ context }: RegistrySessions, orderId: number) {
  const order = await findOrder(context, orderId);
  return { kind: "order-step", subject: order?.order_code ?? String(orderId) } as const;
}
