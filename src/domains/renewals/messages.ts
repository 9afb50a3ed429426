import { statement } from "#db/statement.ts";
import type { RegistrySessions } from "#domains/registry/sessions.ts";
import { rescheduleRenewal } from "#domains/renewals/renewals.ts";
import type { PendingActionData } from "#registry/epp/commands/session/poll-request.ts";

// RFC 5731 §3.3: the client's transaction id may be missing, the server's may not.
const renewalByTrid = statement(
  "renewal-by-trid",
  `SELECT renewals.id AS renewal_id, status = 'Ended' AS has_left, NOT EXISTS (SELECT FROM attempts AS later
     WHERE later.renewal_id = renewals.id AND later.number > attempt.number) AS is_latest
   FROM attempts AS attempt JOIN renewals ON renewals.id = renewal_id
   WHERE registry_id = $1 AND domain_name = $2 AND (cl_trid = $3 OR ($3::text IS NULL AND sv_trid = $4))`,
  { renewal_id: "int8", has_left: "bool", is_latest: "bool" },
);

/**
 * Lets the renewal whose pending command a message decides look at the name now: only info proves what became of it.
 * @returns whether the message is about a renewal, and a machine knows what to make of it
 */
export async function wakeRenewalOf(
  { context, profile }: RegistrySessions,
  { name, paTRID, paResult }: PendingActionData,
): Promise<boolean> {
  const values = [profile.id, name.toLowerCase(), paTRID.clTRID ?? null, paTRID.svTRID];
  const [found] = await context.database.query(renewalByTrid, values);
  if (!found) return false;
  // It may be with us again: no delete of it stands, and no portfolio has it.
  if (found.has_left && !paResult) return false;
  // That of a command which another one followed must not cut the wait for that one's answer.
  if (!found.is_latest) return true;
  const now = context.clock.now();
  await rescheduleRenewal(context.database, found.renewal_id, now);
  return true;
}
