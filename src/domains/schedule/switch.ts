/**
 * Switches a name's renewal on or off. That is possible until a command is sent to the registry. Switching and sending both lock
 * the name's row, so of two at the same time one sees the other.
 */
import type { Context } from "#context.ts";
import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import { cancelScheduledOrder, isSent } from "#domains/orders/follow-up.ts";
import { rescheduleRenewal } from "#domains/schedule/renewals.ts";
import { renewalStatuses } from "#domains/schedule/states.ts";

const lockName = statement(
  "domain-lock-will-renew",
  `SELECT will_renew, renewal_id FROM domains
   WHERE domain_name = $name AND ($reseller_id::int8 IS NULL OR reseller_id = $reseller_id) FOR UPDATE`,
  { will_renew: "bool", renewal_id: "int8?" },
);

const renewalUnderWay = statement(
  "renewal-under-way",
  `SELECT status, ${isSent} AS is_sent FROM renewals AS renewal WHERE id = $id`,
  { status: renewalStatuses, is_sent: "bool" },
);

const updateWillRenew = statement(
  "domain-set-will-renew",
  "UPDATE domains SET will_renew = $will_renew WHERE domain_name = $name",
  {},
);

const insertHistory = statement(
  "domain-history-insert",
  `INSERT INTO domain_history (domain_name, reseller_id, at, event, note)
   SELECT domain_name, reseller_id, $at, $event, $note FROM domains WHERE domain_name = $name`,
  {},
);

/** `under-way`: a command for the current setting was sent to the registry, or may have been. */
export type SwitchResult = "switched" | "same" | "unknown" | "under-way";

/** @param resellerId the name must be in this reseller's portfolio; without it, as for an operator, in any */
export async function switchRenewal(
  context: Pick<Context, "clock">,
  tx: Transaction,
  { name, resellerId, willRenew, note }: { name: string; resellerId?: number; willRenew: boolean; note?: string },
): Promise<SwitchResult> {
  const [found] = await tx.query(lockName, { name, reseller_id: resellerId ?? null });
  if (!found) return "unknown";
  if (found.will_renew === willRenew) return "same";
  const [renewal] = found.renewal_id === null ? [] : await tx.query(renewalUnderWay, { id: found.renewal_id });
  if (renewal?.is_sent) return "under-way";
  const now = context.clock.now();
  await tx.query(updateWillRenew, { name, will_renew: willRenew });
  const event = willRenew ? "will-renew-on" : "will-renew-off";
  await tx.query(insertHistory, { name, at: now, event, note: note ?? null });
  // A renewal that is due already changes its course now.
  if (renewal && renewal.status !== "Scheduled") {
    const reason = `the renewal of the name was switched ${willRenew ? "on" : "off"}`;
    await cancelScheduledOrder(tx, found.renewal_id!, { reason, now });
    await rescheduleRenewal(tx, found.renewal_id!, now);
  }
  return "switched";
}
