/**
 * A registry's announced maintenance, entered by the operator: new registrations are refused until it ends, with its end
 * as the time to come back, and accepted orders wait for it without being counted as failing.
 */
import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import type { ChangeContext } from "#domains/changes/change.ts";
import { wakeAll } from "#domains/changes/due.ts";

const updateMaintenance = statement(
  "registry-maintenance",
  `UPDATE registries SET maintenance_from = $2, maintenance_until = $3, updated_at = $4
   FROM (SELECT id AS previous_id, maintenance_until AS previous_until FROM registries WHERE id = $1 FOR UPDATE) AS previous
   WHERE id = previous_id RETURNING previous_until`,
  { previous_until: "timestamptz?" },
);

const endWaits = (table: string, name: "order" | "renewal") => `
  WITH woken AS (
    UPDATE ${table} SET next_step_at = $now WHERE id IN (
      SELECT id FROM ${table} WHERE registry_id = $registry_id AND ended_at IS NULL AND next_step_at = $until
      ORDER BY id FOR UPDATE)
    RETURNING registry_id)
  ${wakeAll(name, "woken")}`;
const resumeOrders = statement("orders-after-maintenance", endWaits("registration_orders", "order"), { told: "int8" });
const resumeRenewals = statement("renewals-after-maintenance", endWaits("renewals", "renewal"), { told: "int8" });

export interface Maintenance {
  from: Date;
  until: Date;
}

/**
 * Plans a registry's maintenance, or ends it. Changes that wait for the end of the one before look again.
 * @returns "unknown" when no process has ever owned such a registry, otherwise when the one before would have ended
 */
export async function setMaintenance(
  context: ChangeContext,
  registryId: string,
  maintenance: Maintenance | undefined,
): Promise<Date | undefined | "unknown"> {
  const { from = null, until = null } = maintenance ?? {};
  return context.database.transaction(async (tx) => {
    const [previous] = await tx.query(updateMaintenance, [registryId, from, until, context.clock.now()]);
    if (!previous) return "unknown";
    if (previous.previous_until === null) return undefined;
    const { previous_until: ended } = previous;
    for (const resume of [resumeOrders, resumeRenewals]) {
      await tx.query(resume, { registry_id: registryId, until: ended, now: context.clock.now() });
    }
    return previous.previous_until;
  });
}

// Whoever ends the maintenance waits for this, and sees the change waiting.
const holdUntil = statement(
  "registry-maintenance-hold",
  `SELECT id FROM registries
   WHERE id = $registry_id AND date_trunc('milliseconds', maintenance_until) = $until FOR SHARE`,
  { id: "text" },
);

/** Whether the registry's maintenance ends then, and will until the transaction ends. */
export async function holdMaintenance(tx: Transaction, registryId: string, until: Date): Promise<boolean> {
  return (await tx.query(holdUntil, { registry_id: registryId, until })).length > 0;
}
