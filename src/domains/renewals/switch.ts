/**
 * Whether a name is to be renewed: the reseller's wish, which counts until the moment in which the registry is told
 * otherwise. The wish and the sending lock the name's row, so of both at the same time one sees the other.
 */
import type { Context } from "#context.ts";
import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import { rescheduleRenewal } from "#domains/renewals/renewals.ts";
import { isUnderWay, renewalState } from "#domains/renewals/states.ts";

const lockName = statement(
  "domain-lock-will-renew",
  `SELECT will_renew, renewal_id FROM domains
   WHERE domain_name = $1 AND ($2::int8 IS NULL OR reseller_id = $2) FOR UPDATE`,
  { will_renew: "bool", renewal_id: "int8?" },
);

const renewalUnderWay = statement(
  "renewal-under-way",
  `SELECT status, phase, verify_cause, EXISTS (
     SELECT FROM attempts WHERE renewal_id = renewals.id AND answered_at IS NULL) AS is_unanswered
   FROM renewals WHERE id = $1`,
  { status: "text", phase: "text?", verify_cause: "text?", is_unanswered: "bool" },
);

const updateWillRenew = statement(
  "domain-set-will-renew",
  "UPDATE domains SET will_renew = $2 WHERE domain_name = $1",
  {},
);

const insertHistory = statement(
  "domain-history-insert",
  `INSERT INTO domain_history (domain_name, reseller_id, at, event, note)
   SELECT domain_name, reseller_id, $2, $3, $4 FROM domains WHERE domain_name = $1`,
  {},
);

/** What happened to a name that is in its portfolio. */
interface DomainEvent {
  at: Date;
  event: "will-renew-on" | "will-renew-off";
  note?: string | undefined;
}

async function writeDomainHistory(tx: Transaction, name: string, { at, event, note }: DomainEvent) {
  await tx.query(insertHistory, [name, at, event, note ?? null]);
}

/** `under-way`: the registry has been told what was wished before, or may have been. */
export type SwitchResult = "switched" | "same" | "unknown" | "under-way";

/**
 * Switches a name's renewal on or off; the wish that is there already is no change.
 * @param resellerId whose portfolio the name must be in; any for an operator
 */
export async function switchRenewal(
  context: Pick<Context, "clock">,
  tx: Transaction,
  { name, resellerId, willRenew, note }: { name: string; resellerId?: number; willRenew: boolean; note?: string },
): Promise<SwitchResult> {
  const [found] = await tx.query(lockName, [name, resellerId ?? null]);
  if (!found) return "unknown";
  if (found.will_renew === willRenew) return "same";
  const [renewal] = found.renewal_id === null ? [] : await tx.query(renewalUnderWay, [found.renewal_id]);
  if (renewal && (renewal.is_unanswered || isUnderWay(renewalState(renewal)))) return "under-way";
  const now = context.clock.now();
  await tx.query(updateWillRenew, [name, willRenew]);
  await writeDomainHistory(tx, name, { at: now, event: willRenew ? "will-renew-on" : "will-renew-off", note });
  // One that is not due yet has its time; any other goes the other way from now on.
  if (renewal && renewal.status !== "Scheduled") await rescheduleRenewal(tx, found.renewal_id!, now);
  return "switched";
}
