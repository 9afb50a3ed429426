/**
 * A registry's announced maintenance, entered by the operator. Until it ends, new registrations are refused with its end as
 * `retry-after`, and accepted orders wait without counting failures.
 */
import type { Context } from "#context.ts";
import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import { wakeAll } from "#domains/registry/wake.ts";

const updateMaintenance = statement(
  "registry-maintenance",
  `UPDATE registries SET maintenance_from = $from, maintenance_until = $until, updated_at = $now
   FROM (SELECT id AS previous_id, maintenance_until AS previous_until FROM registries WHERE id = $id FOR UPDATE) AS previous
   WHERE id = previous_id RETURNING previous_until`,
  { previous_until: "timestamptz?" },
);

const resumeOrders = statement(
  "orders-after-maintenance",
  `WITH woken AS (
     UPDATE orders SET next_step_at = $now WHERE id IN (
       SELECT id FROM orders WHERE registry_id = $registry_id AND ended_at IS NULL AND next_step_at = $until
       ORDER BY id FOR UPDATE)
     RETURNING lane, registry_id)
   ${wakeAll("woken")}`,
  { notified: "int8" },
);
const resumeRenewals = statement(
  "renewals-after-maintenance",
  `WITH woken AS (
     UPDATE renewals SET next_step_at = $now WHERE id IN (
       SELECT id FROM renewals WHERE registry_id = $registry_id AND ended_at IS NULL AND next_step_at = $until
       ORDER BY id FOR UPDATE)
     RETURNING 'renewal' AS lane, registry_id)
   ${wakeAll("woken")}`,
  { notified: "int8" },
);

export interface Maintenance {
  from: Date;
  until: Date;
}

/**
 * Plans a registry's maintenance, or ends it. Changes that wait for the end of the previous one become due.
 * @returns the end of the previous maintenance; "unknown" when no process has ever owned such a registry
 */
export async function setMaintenance(
  context: Pick<Context, "database" | "clock">,
  registryId: string,
  maintenance: Maintenance | undefined,
): Promise<Date | undefined | "unknown"> {
  const { from = null, until = null } = maintenance ?? {};
  const now = context.clock.now();
  return context.database.transaction(async (tx) => {
    const [previous] = await tx.query(updateMaintenance, { id: registryId, from, until, now });
    if (!previous) return "unknown";
    if (previous.previous_until === null) return undefined;
    const { previous_until: ended } = previous;
    for (const resume of [resumeOrders, resumeRenewals]) {
      await tx.query(resume, { registry_id: registryId, until: ended, now });
    }
    return previous.previous_until;
  });
}

// `setMaintenance` waits for this lock, and then sees the change as waiting.
const holdUntil = statement(
  "registry-maintenance-hold",
  `SELECT id FROM registries
   WHERE id = $registry_id AND date_trunc('milliseconds', maintenance_until) = $until FOR SHARE`,
  { id: "text" },
);

/** Whether the registry's maintenance ends at `until`; that stays so until the transaction ends. */
export async function holdMaintenance(tx: Transaction, registryId: string, until: Date): Promise<boolean> {
  return (await tx.query(holdUntil, { registry_id: registryId, until })).length > 0;
}
