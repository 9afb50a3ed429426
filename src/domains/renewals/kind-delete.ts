/** The kind `delete`: a name that is not to be renewed leaves; one that its registry has renewed by itself is deleted. */

import type { Kind } from "#domains/changes/kind.ts";
import { later } from "#domains/changes/proof.ts";
import { lostAnswer } from "#domains/changes/send.ts";
import type { RegistrySessions } from "#domains/registry/sessions.ts";
import { lookAtName, lookLost, notSeen, renewalDefaults, viewOf } from "#domains/renewals/kind-renew.ts";
import type { Renewal, RenewalOutcome } from "#domains/renewals/renewals.ts";
import type { RenewalEvent } from "#domains/renewals/states.ts";
import { addDays, isNextTerm, termAfter } from "#domains/renewals/terms.ts";
import { domainDelete } from "#registry/epp/commands/domain/delete.ts";
import type { RegistryProfile } from "#registry/registries.ts";

/** RFC 5730 §3: an object's statuses forbid the command, e.g. pendingDelete another delete. */
const statusProhibits = 2304;
/** How often a name is looked at that a registry lets expire: its last stages take weeks. */
const expiringCheckMs = 24 * 60 * 60_000;

/** What result codes mean for the `<delete>` of a name that the registry has renewed by itself. */
const deleteEvents: Readonly<Record<number, RenewalEvent>> = {
  1000: "answered",
  1001: "answered",
  2001: "operator-needed",
  2002: "not-executed",
  2003: "operator-needed",
  2005: "operator-needed",
  2100: "operator-needed",
  2101: "operator-needed",
  2102: "operator-needed",
  2103: "operator-needed",
  2200: "not-executed",
  2202: "not-executed",
  2304: "operator-needed",
  2305: "operator-needed",
  2306: "operator-needed",
  2307: "operator-needed",
  2308: "operator-needed",
  2501: "not-executed",
  2502: "not-executed",
};

/** The event of a delete's result code. A code that nobody has described is treated like a lost answer; 2303 and 2201, too, are looked at: the name may be gone already. */
export function renewalEventOfDelete(code: number): RenewalEvent {
  return deleteEvents[code] ?? "unanswered";
}

/** Rows 17 to 19: a name that is not to be renewed, until its term is over and after. */
export async function waitForEnd(sessions: RegistrySessions, renewal: Renewal): Promise<RenewalOutcome> {
  const { context, profile } = sessions;
  const { term_ends_at: termEndsAt } = renewal;
  if (renewal.will_renew) return { event: "wanted" };
  if (context.clock.now() < termEndsAt) return { nextStepAt: termEndsAt };
  const view = await lookAtName(sessions, renewal);
  if (view.kind === "unknown") return lookLost(renewal, view.reason);
  if (view.kind === "gone") return { event: "left", reason: view.reason };
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

/** Why a registry cannot have renewed a name that nobody wants: then somebody did, who may want it. */
function whyNotAutoRenewed({ atExpiry }: RegistryProfile, termEndsAt: Date, exDate: Date): string | undefined {
  if (atExpiry === "expire") return "the name was renewed at a registry that lets names expire, and it should not be";
  if (!isNextTerm(termAfter(termEndsAt, 1), exDate)) return undefined;
  return `the name expires on ${exDate.toISOString()}, which is more than the year that the registry renews it for by itself`;
}

/** Rows 20 to 22: deletes a name that the registry has renewed by itself, while that is credited. */
export const deleteKind: Kind<Renewal, RenewalOutcome> = {
  ...renewalDefaults,
  command: "domain:delete",

  async frame({ context, profile }, renewal) {
    if (renewal.will_renew) return { instead: { event: "wanted" } };
    if (context.clock.now() <= addDays(renewedByRegistryAt(renewal), profile.graceDays.autoRenew)) {
      return { command: domainDelete(renewal.domain_name) };
    }
    const reason = "the registry renewed the name, and the time to take that back is over";
    return { instead: { event: "grace-over", reason } };
  },

  meaning: renewalEventOfDelete,

  async answered(sessions, renewal, answer) {
    const { code } = answer.response;
    if (code !== statusProhibits || !(await isLeaving(sessions, renewal))) {
      return renewalDefaults.answered(sessions, renewal, answer);
    }
    // A delete that was given up for lost has arrived after all, and forbids this one: what the registry shows decides.
    return lostAnswer(sessions, { ...answer.attempt, isClosed: false });
  },

  // A name that the registry still keeps for redemption has left us.
  proof(sessions, renewal, name) {
    const view = viewOf(name);
    if (view.kind === "unknown") return { is: "unknown", outcome: lookLost(renewal, view.reason) };
    if (view.kind !== "held") return { is: "done", outcome: { event: "left", reason: "it was not to be renewed" } };
    return notSeen(sessions, renewal, "the registry said that it deleted the name, and still shows it");
  },
};

/** Whether the registry is giving the name up, or does not hold it for us any more: then there is nothing left to delete. */
async function isLeaving(sessions: RegistrySessions, renewal: Renewal): Promise<boolean> {
  const { kind } = await lookAtName(sessions, renewal);
  return kind === "leaving" || kind === "gone";
}

/** It does that at its own date, a year before the one that it shows now. Where that is later than ours, ours is safe. */
function renewedByRegistryAt({ term_ends_at: termEndsAt, registry_ex_date: exDate }: Renewal): Date {
  const itsDate = termAfter(exDate, -1);
  return itsDate < termEndsAt ? itsDate : termEndsAt;
}
