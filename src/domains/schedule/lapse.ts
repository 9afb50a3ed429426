/** A name that must not be renewed: it expires, or its registry renews it automatically, and it is deleted while that is refunded. */

import { seeAbsence, seePresence } from "#domains/compare/looks.ts";
import { askInfo, later } from "#domains/registry/ask.ts";
import { attentionRetryMs, type RegistrySessions } from "#domains/registry/sessions.ts";
import { addDays, isNextTerm, termAfter } from "#domains/registry/terms.ts";
import { type Renewal, type RenewalOutcome, scheduledOrder } from "#domains/schedule/renewals.ts";
import { dayMs } from "#lib/clock.ts";
import type { DomainInfo } from "#registry/epp/commands/domain/info.ts";

/** How often to look at a name that its registry lets expire: the last stages take weeks. */
const expiringCheckMs = dayMs;

/**
 * The step of `Lapsing (wait)`: waits for the end of the term, and then for what the registry does. Returns nothing when the name
 * has left, and the renewal with it.
 */
export async function waitForEnd(sessions: RegistrySessions, renewal: Renewal): Promise<RenewalOutcome | undefined> {
  const { context, profile } = sessions;
  const { term_ends_at: termEndsAt, domain_name: name } = renewal;
  if (context.clock.now() < termEndsAt) return { nextStepAt: termEndsAt };
  const seen = await askInfo(sessions, name, "renewal");
  if (seen.is === "unknown") return { event: "look-lost", countsAsFailure: true, reason: seen.reason };
  if (seen.is !== "held-by-us") {
    if ((await seeAbsence(sessions, name, seen)) === "left") return undefined;
    return { nextStepAt: later(sessions, attentionRetryMs) };
  }
  const isDeleting = seen.info.statuses.includes("pendingDelete");
  if (renewal.gone_since !== null && !isDeleting) await seePresence(sessions, name, seen.info);
  const exDate = shownExDate(sessions, renewal, seen.info);
  if (!exDate && !isDeleting) return { event: "look-lost", countsAsFailure: true, reason: "info brought no exDate" };
  if (exDate && !isDeleting && isNextTerm(termEndsAt, exDate)) return deleteInTime(sessions, renewal, exDate);
  return {
    nextStepAt: later(sessions, profile.atExpiry === "auto-renew" ? profile.reconcileIntervalMs : expiringCheckMs),
  };
}

/** Where the registry shows no dates, a year is added at the end of each term if it renews automatically. */
function shownExDate({ context, profile }: RegistrySessions, { registry_ex_date }: Renewal, { exDate }: DomainInfo) {
  if (profile.expiry !== "ours") return exDate;
  let reckoned = registry_ex_date;
  if (profile.atExpiry === "auto-renew") while (reckoned <= context.clock.now()) reckoned = termAfter(reckoned, 1);
  return reckoned;
}

/** Places the delete of a name that the registry has renewed automatically, while it refunds that. */
function deleteInTime(sessions: RegistrySessions, renewal: Renewal, exDate: Date): RenewalOutcome {
  const { context, profile } = sessions;
  const refundedUntil = addDays(renewedByRegistryAt(renewal, exDate), profile.graceDays.autoRenew);
  const reason = whyNotDeleted(sessions, renewal, exDate, context.clock.now() > refundedUntil);
  if (reason !== undefined) return { event: "needs-operator", exDate, reason };
  const places = scheduledOrder(sessions, renewal, "delete", { refunded_until: refundedUntil.toISOString() });
  return { event: "renewed-by-registry", exDate, places };
}

/** Where the registry cannot have renewed the name automatically, a person did, and may want the name. */
function whyNotDeleted(
  { profile }: RegistrySessions,
  { term_ends_at: termEndsAt }: Renewal,
  exDate: Date,
  isTooLate: boolean,
): string | undefined {
  if (profile.atExpiry === "expire")
    return "the name was renewed at a registry that lets names expire, although its renewal is switched off";
  if (isNextTerm(termAfter(termEndsAt, 1), exDate))
    return `the name expires on ${exDate.toISOString()}, which is more than the year of an automatic renewal`;
  return isTooLate ? "the registry renewed the name, and the grace period for a delete is over" : undefined;
}

/** The registry renews at its own date, a year before the exDate that it shows now; the earlier one of its date and ours is safe. */
function renewedByRegistryAt({ term_ends_at: termEndsAt }: Renewal, exDate: Date): Date {
  const itsDate = termAfter(exDate, -1);
  return itsDate < termEndsAt ? itsDate : termEndsAt;
}
