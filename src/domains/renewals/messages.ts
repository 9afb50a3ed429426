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
   WHERE registry_id = $registry_id AND domain_name = $domain_name
     AND (cl_trid = $cl_trid OR ($cl_trid::text IS NULL AND sv_trid = $sv_trid))`,
  { renewal_id: "int8", has_left: "bool", is_latest: "bool" },
);

/**
 * Makes the renewal due whose pending command a message is about: only `<info>` proves the result.
 * @returns whether the message is about a renewal, and no operator has to read it
 */
export async function wakeRenewalOf(
  { context, profile }: RegistrySessions,
  { name, paTRID, paResult }: PendingActionData,
): Promise<boolean> {
  const [found] = await context.database.query(renewalByTrid, {
    registry_id: profile.id,
    domain_name: name.toLowerCase(),
    cl_trid: paTRID.clTRID ?? null,
    sv_trid: paTRID.svTRID,
  });
  if (!found) return false;
  // The delete was denied after the name had left its portfolio: the registry may still hold the name for us.
  if (found.has_left && !paResult) return false;
  // A message about an earlier command must not cut the wait for the answer to the latest one.
  if (!found.is_latest) return true;
  await rescheduleRenewal(context.database, found.renewal_id, context.clock.now());
  return true;
}
