/**
 * Renewals that a release before the schedule placed orders has begun: each becomes an order, in the state that it had, with its
 * attempts. So nothing that may have been executed is forgotten, and one machine finishes it.
 */
import { statement } from "#db/statement.ts";
import { wake } from "#domains/changes/due.ts";
import { assertLeaseStands } from "#domains/registry/owner-lease.ts";
import type { RegistrySessions } from "#domains/registry/sessions.ts";
import type { Renewal } from "#domains/renewals/renewals.ts";
import { newOrderCode } from "#lib/order-code.ts";

const lockName = statement("renewal-name-lock", "SELECT domain_name FROM domains WHERE renewal_id = $id FOR UPDATE", {
  domain_name: "text",
});

// An open attempt in a phase that sends means that the process which sent it is gone: the order's first step treats it so.
const adopt = statement(
  "renewal-adopt",
  `WITH old AS (
     SELECT id, reseller_id, domain_name, registry_id, period_years, term_ends_at, base_ex_date, status, phase, verify_cause,
       confirm_after, backoff_count, next_step_at, reason, (SELECT command = 'domain:delete' FROM attempts WHERE attempts.renewal_id = renewal.id
       ORDER BY number DESC LIMIT 1) AS is_delete
     FROM renewals AS renewal WHERE id = $id AND version = $version AND ended_at IS NULL FOR UPDATE),
   placed AS (
     INSERT INTO changes (change_code, reseller_id, domain_name, registry_id, kind, input, found, is_urgent, status, phase,
       verify_cause, confirm_after, backoff_count, next_step_at, reason, created_at, updated_at, renewal_id)
     SELECT $code, reseller_id, domain_name, registry_id, CASE WHEN is_delete THEN 'delete' ELSE 'renew' END,
       jsonb_build_object('years', period_years, 'expiration_date', term_ends_at),
       CASE WHEN is_delete THEN '{}'
         ELSE jsonb_build_object('base_ex_date', coalesce(base_ex_date, term_ends_at), 'years_left', period_years) END, true,
       CASE phase WHEN 'pending' THEN 'Pending' ELSE 'Processing' END,
       CASE phase WHEN 'pending' THEN NULL WHEN 'verify' THEN 'verify' ELSE 'send' END,
       CASE WHEN phase IS DISTINCT FROM 'verify' THEN NULL WHEN verify_cause = 'answered' THEN 'answered' ELSE 'lost' END,
       confirm_after, backoff_count, next_step_at, reason, $now, $now, id
     FROM old RETURNING id, renewal_id, registry_id),
   moved AS (
     UPDATE attempts SET change_id = placed.id, renewal_id = NULL FROM placed WHERE attempts.renewal_id = placed.renewal_id),
   told AS (
     INSERT INTO change_history (change_id, at, event, status, phase, note)
     SELECT placed.id, $now, 'requested', CASE phase WHEN 'pending' THEN 'Pending' ELSE 'Processing' END, NULL,
       'begun by an earlier release' FROM placed, old),
   freed AS (
     UPDATE renewals AS renewal SET status = CASE WHEN is_delete THEN 'Lapsing' ELSE 'Processing' END,
       phase = CASE WHEN is_delete THEN 'delete' ELSE 'renew' END, verify_cause = NULL, confirm_after = NULL,
       next_step_at = $later
     FROM old WHERE renewal.id = old.id)
   SELECT id, ${wake("change", "registry_id")}::text AS woken FROM placed`,
  { id: "int8", woken: "text" },
);

/** @param later when the renewal looks at its order, should it miss its end */
export async function adoptOlder({ context }: RegistrySessions, renewal: Renewal, later: Date): Promise<void> {
  const { id, version, renewal_code, order_code } = renewal;
  const code = order_code === null ? renewal_code : newOrderCode(context.random, "REN");
  await context.database.transaction(async (tx) => {
    await assertLeaseStands(tx, context.lease);
    await tx.query(lockName, { id });
    await tx.query(adopt, { id, version, code, now: context.clock.now(), later });
  });
}
