/** Orders about a name that follow from another one, or from the end of its term: they are placed with it, and those of terms are cancelled with it. */
import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";

/**
 * SQL: two CTEs that place orders and their histories. The first returns domain_name, registry_id and lane. The statement must wake
 * their machine, too.
 * @param name of the first CTE
 * @param source SQL: rows of code, reseller_id, domain_name, registry_id, kind, input, at and due_at; also traceparent, or renewal_id of
 * the schedule's, which no request has asked for
 * @param note SQL: why they were placed, for their histories
 */
export const placeFollowUps = (
  name: string,
  source: string,
  { note = "NULL", isSchedules = false }: { note?: string; isSchedules?: boolean } = {},
): [placed: string, history: string] => [
  `${name} AS (
     INSERT INTO orders (order_code, reseller_id, domain_name, registry_id, kind, input, is_urgent, status, next_step_at,
       created_at, updated_at, ${isSchedules ? "renewal_id" : "traceparent"})
     SELECT code, reseller_id, domain_name, registry_id, kind, input, ${isSchedules}, 'NotProvisioned', due_at, at, at,
       ${isSchedules ? "renewal_id" : "traceparent"} FROM ${source}
     ${isSchedules ? "ON CONFLICT DO NOTHING" : ""} RETURNING id, domain_name, registry_id, lane, created_at)`,
  `${name}_history AS (
     INSERT INTO order_history (order_id, at, event, status, note)
     SELECT id, created_at, 'requested', 'NotProvisioned', ${note}::text FROM ${name})`,
];

/** What the name's reseller orders within this time comes first. */
const lockAfterSeconds = 2;

/**
 * SQL: two CTEs that place an order for each registered name to be locked against transfers (`lockNewNames` of the registry's
 * profile). The order's code is the registration's with the prefix CHG: no other order has these random characters.
 * @param registered SQL: rows of code, domain_name, registry_id, reseller_id and at of registrations
 */
export const placeLocks = (registered: string): [locks: string, history: string] =>
  placeFollowUps(
    "locks",
    `(SELECT overlay(code PLACING 'CHG' FROM 1 FOR 3) AS code, reseller_id, domain_name, registry_id,
        'transfer-lock' AS kind, '{"transfer_locked": true}'::jsonb AS input, at,
        at + interval '${lockAfterSeconds} s' AS due_at, traceparent
      FROM ${registered}) AS followed`,
    { note: "'the registry''s profile locks new names'" },
  );

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
   SELECT count(notify_after_commit('order_changed', order_code)) AS notified FROM ended`,
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
