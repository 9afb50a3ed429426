/** The kind `delete`: a name that must not be renewed leaves. If its registry has renewed it automatically, it is deleted. */

import { attentionLookMs } from "#domains/changes/change.ts";
import { eventsByCode, type Kind, lostAnswer } from "#domains/changes/kind.ts";
import { later } from "#domains/changes/proof.ts";
import type { Departure } from "#domains/portfolio/rows.ts";
import type { RegistrySessions } from "#domains/registry/sessions.ts";
import {
  isKept,
  lookAtName,
  lookLost,
  notSeen,
  type RegistryView,
  renewalDefaults,
  viewOf,
} from "#domains/renewals/kind-renew.ts";
import type { Renewal, RenewalOutcome } from "#domains/renewals/renewals.ts";
import type { RenewalEvent } from "#domains/renewals/states.ts";
import { addDays, isNextTerm, termAfter } from "#domains/renewals/terms.ts";
import { domainDelete } from "#registry/epp/commands/domain/delete.ts";
import type { RegistryProfile } from "#registry/registries.ts";

/** RFC 5730 §3: an object's statuses forbid the command, e.g. pendingDelete another delete. */
const statusProhibits = 2304;
/** How often to look at a name that its registry lets expire: the last stages take weeks. */
const expiringCheckMs = 24 * 60 * 60_000;

/** What the result codes of a `<delete>` mean for a renewal (RFC 5730 §3). */
const deleteEvents = eventsByCode<RenewalEvent>({
  answered: [1000, 1001],
  "not-executed": [2002, 2200, 2202, 2501, 2502],
  "operator-needed": [2001, 2003, 2005, 2100, 2101, 2102, 2103, 2304, 2305, 2306, 2307, 2308],
});

/** An unknown code is treated like a lost answer. So are 2303 and 2201: the name may be gone already, and `<info>` decides. */
export function renewalEventOfDelete(code: number): RenewalEvent {
  return deleteEvents.get(code) ?? "unanswered";
}

/**
 * The step of `Lapsing (wait)`: waits for the end of the term, and then for what the registry does. Returns nothing when the name
 * has left, and the renewal with it.
 */
export async function waitForEnd(sessions: RegistrySessions, renewal: Renewal): Promise<RenewalOutcome | undefined> {
  const { context, profile } = sessions;
  const { term_ends_at: termEndsAt } = renewal;
  if (renewal.will_renew) return { event: "wanted" };
  if (context.clock.now() < termEndsAt) return { nextStepAt: termEndsAt };
  const view = await lookAtName(sessions, renewal);
  if (view.kind === "unknown") return lookLost(renewal, view.reason);
  if (view.kind === "gone") {
    if (!(await isKept(sessions, renewal, view.absence))) return undefined;
    return { nextStepAt: later(sessions, attentionLookMs) };
  }
  if (view.kind === "held" && isNextTerm(termEndsAt, view.exDate)) {
    const { exDate } = view;
    const reason = whyNotAutoRenewed(profile, termEndsAt, exDate);
    return reason === undefined
      ? { event: "renewed-by-registry", exDate }
      : { event: "operator-needed", exDate, reason };
  }
  return {
    nextStepAt: later(sessions, profile.atExpiry === "auto-renew" ? profile.reconcileIntervalMs : expiringCheckMs),
  };
}

/** Why the registry cannot have renewed the name automatically. Then a person did, and may want the name. */
function whyNotAutoRenewed({ atExpiry }: RegistryProfile, termEndsAt: Date, exDate: Date): string | undefined {
  if (atExpiry === "expire")
    return "the name was renewed at a registry that lets names expire, although its renewal is switched off";
  if (!isNextTerm(termAfter(termEndsAt, 1), exDate)) return undefined;
  return `the name expires on ${exDate.toISOString()}, which is more than the year of an automatic renewal`;
}

/** Deletes a name that the registry has renewed automatically, while the registry refunds that. */
export const deleteKind: Kind<Renewal, RenewalOutcome> = {
  ...renewalDefaults,
  command: "domain:delete",

  async frame({ context, profile }, renewal) {
    if (renewal.will_renew) return { instead: { event: "wanted" } };
    if (context.clock.now() <= addDays(renewedByRegistryAt(renewal), profile.graceDays.autoRenew)) {
      return { command: domainDelete(renewal.domain_name) };
    }
    const reason = "the registry renewed the name, and the grace period for a delete is over";
    return { instead: { event: "grace-over", reason } };
  },

  meaning: renewalEventOfDelete,

  async answered(sessions, renewal, answer) {
    const { code } = answer.response;
    if (code !== statusProhibits || !(await isLeaving(sessions, renewal))) {
      return renewalDefaults.answered(sessions, renewal, answer);
    }
    // An earlier delete whose answer was lost has arrived after all, and prohibits this one: `<info>` decides.
    return lostAnswer(sessions, { ...answer.attempt, isClosed: false });
  },

  // A name in redemption has left us.
  proof(sessions, renewal, name) {
    const view = viewOf(sessions, renewal, name);
    if (view.kind === "unknown") return { is: "unknown", outcome: lookLost(renewal, view.reason) };
    if (view.kind !== "held") {
      const departure = departureOf(sessions, view);
      return { is: "done", outcome: { event: "left", reason: "its renewal is switched off", departure } };
    }
    return notSeen(sessions, renewal, "the registry reported the delete as done, but still shows the name");
  },
};

/** How a name has left for which a delete was sent. */
function departureOf(sessions: RegistrySessions, view: Extract<RegistryView, { kind: "gone" | "leaving" }>): Departure {
  if (view.kind === "leaving") {
    if (!view.isRestorable) return { reason: "deleted" };
    const { context, profile } = sessions;
    return { reason: "deleted", restorableUntil: addDays(context.clock.now(), profile.graceDays.redemption) };
  }
  const { absence } = view;
  if (absence.is === "absent") return { reason: "deleted" };
  return { reason: "transferred", gainingRegistrar: absence.registrar };
}

/** Whether the registry is deleting the name, or no longer holds it for us: then there is nothing left to delete. */
async function isLeaving(sessions: RegistrySessions, renewal: Renewal): Promise<boolean> {
  const { kind } = await lookAtName(sessions, renewal);
  return kind === "leaving" || kind === "gone";
}

/** The registry renews at its own date, a year before the exDate that it shows now; the earlier one of its date and ours is safe. */
function renewedByRegistryAt({ term_ends_at: termEndsAt, registry_ex_date: exDate }: Renewal): Date {
  const itsDate = termAfter(exDate, -1);
  return itsDate < termEndsAt ? itsDate : termEndsAt;
}
