/**
 * A registry's announced maintenance, entered by the operator: new registrations are refused until it ends, with its end
 * as the time to come back, and accepted orders wait for it without being counted as failing.
 */
import { statement } from "#db/statement.ts";
import { type Order, OrderChanged, type OrderContext, postponeUntil } from "#domains/orders/orders.ts";
import { wakeOrders } from "#queue/enqueue.ts";

const updateMaintenance = statement(
  "registry-maintenance",
  `UPDATE registries SET maintenance_from = $2, maintenance_until = $3, updated_at = $4
   FROM (SELECT id AS previous_id, maintenance_until AS previous_until FROM registries WHERE id = $1 FOR UPDATE) AS previous
   WHERE id = previous_id RETURNING previous_until`,
  { previous_until: "timestamptz?" },
);

const endWaits = statement(
  "orders-after-maintenance",
  `UPDATE registration_orders SET next_step_at = NULL WHERE registry_id = $1 AND next_step_at = $2
     AND status IN ('NotProvisioned', 'Processing', 'Pending') RETURNING id`,
  { id: "int8" },
);

export interface Maintenance {
  from: Date;
  until: Date;
}

/**
 * Plans a registry's maintenance, or ends it. Orders that wait for the end of the one before look again.
 * @returns "unknown" when no process has ever owned such a registry, otherwise when the one before would have ended
 */
export async function setMaintenance(
  context: OrderContext,
  registryId: string,
  maintenance: Maintenance | undefined,
): Promise<Date | undefined | "unknown"> {
  const { from = null, until = null } = maintenance ?? {};
  return context.database.transaction(async (tx) => {
    const [previous] = await tx.query(updateMaintenance, [registryId, from, until, context.clock.now()]);
    if (!previous) return "unknown";
    if (previous.previous_until === null) return undefined;
    await wakeOrders(tx, registryId, await tx.query(endWaits, [registryId, previous.previous_until]));
    return previous.previous_until;
  });
}

// Whoever ends the maintenance waits for this, and sees the order waiting.
const holdMaintenance = statement(
  "registry-maintenance-hold",
  "SELECT id FROM registries WHERE id = $1 AND date_trunc('milliseconds', maintenance_until) = $2 FOR SHARE",
  { id: "text" },
);

/**
 * Lets an order wait for the end of its registry's maintenance.
 * @throws OrderChanged when it ends at another time by now, or the order is not any more as it was read
 */
export async function awaitMaintenance(context: OrderContext, order: Order, until: Date): Promise<void> {
  await context.database.transaction(async (tx) => {
    const [held] = await tx.query(holdMaintenance, [order.registry_id, until]);
    if (!held) throw new OrderChanged();
    await postponeUntil(context, tx, order, until);
  });
}
