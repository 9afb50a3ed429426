import { statement } from "#db/statement.ts";
import { wakeAll } from "#domains/orders/due.ts";
import type { RegistrySessions } from "#domains/registry/sessions.ts";
import type { PendingActionData } from "#registry/epp/commands/session/poll-request.ts";

// RFC 5731 §3.3: the client's transaction id may be missing, the server's may not. While an answer may still come, nothing is
// believed earlier because of a message. A delete that is denied after the name has left needs an operator: the registry may still
// hold the name for us.
const wakeByTrid = statement(
  "change-wake-by-trid",
  `WITH meant AS (
     SELECT change.id, change.status, change.kind = 'delete' AND change.status = 'Finished' AND NOT $is_approved::bool AS is_denied
     FROM attempts AS attempt JOIN changes AS change ON change.id = attempt.change_id
     WHERE registry_id = $registry_id AND domain_name = $domain_name
       AND (cl_trid = $cl_trid OR ($cl_trid::text IS NULL AND sv_trid = $sv_trid))),
   woken AS (
     UPDATE changes SET next_step_at = $now WHERE id IN (SELECT id FROM meant WHERE status = 'Pending') RETURNING registry_id)
   SELECT (${wakeAll("change", "woken")}) AS notified, (SELECT count(*) FROM meant WHERE NOT is_denied) AS meant`,
  { notified: "int8", meant: "int8" },
);

/**
 * Makes the order due whose pending command a message is about: only `<info>` proves the result.
 * @returns whether the message is about an order for a registered name, and no operator has to read it
 */
export async function wakeChangeOf(
  { context, profile }: RegistrySessions,
  { name, paTRID, paResult }: PendingActionData,
): Promise<boolean> {
  const [found] = await context.database.query(wakeByTrid, {
    registry_id: profile.id,
    domain_name: name.toLowerCase(),
    cl_trid: paTRID.clTRID ?? null,
    sv_trid: paTRID.svTRID,
    is_approved: paResult,
    now: context.clock.now(),
  });
  return (found?.meant ?? 0) > 0;
}
