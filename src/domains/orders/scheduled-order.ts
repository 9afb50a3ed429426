/** The orders that the schedule has placed for a term of a name. */
import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";

/** SQL, about a row `renewal`: a command of its order may have reached the registry, and its effect is not known yet. */
export const isSent = `EXISTS (SELECT FROM orders AS placed WHERE placed.renewal_id = renewal.id AND placed.ended_at IS NULL AND (
     placed.status = 'Pending' OR placed.phase IS NOT DISTINCT FROM 'verify'
     OR EXISTS (SELECT FROM attempts WHERE attempts.order_id = placed.id AND answered_at IS NULL)))`;

// `begin` writes over the version that it read, so of a cancellation and a send at the same time one sees the other.
const cancel = statement(
  "scheduled-order-cancel",
  `WITH ended AS (
     UPDATE orders AS placed SET status = 'Cancelled', phase = NULL, verify_cause = NULL, confirm_after = NULL,
       operator_note = NULL, reason = $reason, updated_at = $now, ended_at = $now, next_step_at = NULL
     WHERE renewal_id = $renewal_id AND ended_at IS NULL AND status <> 'Pending' AND phase IS DISTINCT FROM 'verify'
       AND NOT EXISTS (SELECT FROM attempts WHERE attempts.order_id = placed.id AND answered_at IS NULL)
     RETURNING id, order_code),
   history AS (
     INSERT INTO order_history (order_id, at, event, status, note)
     SELECT id, $now, 'cancel', 'Cancelled', $reason FROM ended)
   SELECT count(pg_notify('order_changed', order_code)) AS notified FROM ended`,
  { notified: "int8" },
);

/** Ends the order of a renewal, unless it may have reached the registry. @param tx holds the lock of the name's row */
export async function cancelScheduledOrder(
  tx: Pick<Transaction, "query">,
  renewalId: number,
  { reason, now }: { reason: string; now: Date },
): Promise<void> {
  await tx.query(cancel, { renewal_id: renewalId, reason, now });
}
