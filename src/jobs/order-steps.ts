/** The steps of one registry's orders: one at a time for each order, and none forgotten. */
import { DatabaseUnavailable } from "#db/errors.ts";
import { statement } from "#db/statement.ts";
import { raiseAlarm, resolveAlarm } from "#domains/alarms.ts";
import { findOrder } from "#domains/orders.ts";
import type { RegistrySessions } from "#domains/registry-sessions.ts";
import { advanceOrder } from "#domains/steps.ts";
import { enqueueOrder } from "#jobs/enqueue.ts";
import type { NewOrders } from "#jobs/new-orders.ts";
import { oneAtATime } from "#jobs/one-at-a-time.ts";
import { sleep } from "#lib/clock.ts";

const forgottenOrders = statement(
  "orders-forgotten",
  `SELECT id, reseller_id, status = 'NotProvisioned' AND next_step_at IS NULL AS is_new FROM registration_orders AS o
   WHERE registry_id = $1 AND status IN ('NotProvisioned', 'Processing', 'Pending')
     AND NOT EXISTS (SELECT FROM graphile_worker.jobs AS job WHERE job.key = 'order:' || o.id
       AND (job.locked_at IS NOT NULL OR job.run_at <= now() OR o.next_step_at > $2::timestamptz))
   ORDER BY id`,
  { id: "int8", reseller_id: "int8", is_new: "bool" },
);

/** Between two looks whether the owner before this one is still at work. */
const predecessorMs = 250;

/**
 * Orders that nobody works on. A new one whose notification nobody heard would wait for ever, so would one without a job, and
 * one that is due would wait for hours when its job failed often: the queue's own delay grows to six hours. Whatever happened,
 * the owner finds them. One that has time puts itself off.
 */
export async function takeUpForgotten(
  { context, profile }: RegistrySessions,
  newOrders: NewOrders,
  ended: AbortSignal,
): Promise<void> {
  while (await newOrders.areElsewhere()) {
    await sleep(predecessorMs, ended);
    if (ended.aborted) return;
  }
  // Of these some will have ended before the answer is here.
  const here = new Set(newOrders.list());
  const forgotten = await context.database.query(forgottenOrders, [profile.id, context.clock.now()]);
  for (const { id, reseller_id: resellerId, is_new: isNew } of forgotten) {
    if (here.has(id) || newOrders.has(id)) continue;
    if (isNew) newOrders.add(id, resellerId);
    else await enqueueOrder(context.database, { id, registryId: profile.id }, 0);
  }
}

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
