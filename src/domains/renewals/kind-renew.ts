/**
 * The kind `renew`: a name whose term ends gets another one. Only `<info>` proves that; a command's answer is a reason to look.
 * Beside the attempt rows the registry itself guards against a second execution: a renew carries the current exDate, so one
 * that is sent twice is executed once (RFC 5731 §3.2.3).
 */

import { eventsByCode, type Kind, type Proof } from "#domains/changes/kind.ts";
import { askInfo, later, type NameInfo, ofCommand } from "#domains/changes/proof.ts";
import type { RegistrySessions } from "#domains/registry/sessions.ts";
import type { Renewal, RenewalOutcome } from "#domains/renewals/renewals.ts";
import { nextRenewalState, type RenewalEvent } from "#domains/renewals/states.ts";
import { isAnotherDate, isNextTerm, periodsBetween, termAfter } from "#domains/renewals/terms.ts";
import { domainRenew } from "#registry/epp/commands/domain/renew.ts";

const dayMs = 24 * 60 * 60_000;
/** If the registry has not shown for this long what it reported as done, an operator must ask it. */
const contradictionMs = dayMs;
/** A frame that was delayed for longer, by the network or a suspended machine, is no longer delivered. */
const inTransitMsMax = dayMs;
/** A renew is not sent on the basis of an older `<info>`. */
const lookFreshMs = dayMs;
/** How often a registry may refuse a renew without `<info>` showing why, before an operator is needed. */
const disputesMax = 5;

/**
 * What the result codes of a `<renew>` mean (RFC 5730 §3), unless a registry's profile says otherwise. `disputed` are the answers
 * of registries to a curExpDate that is not their exDate, among other things: `<info>` decides.
 */
const renewEvents = eventsByCode<RenewalEvent>({
  answered: [1000],
  pending: [1001],
  "out-of-credit": [2104],
  disputed: [2004, 2105, 2201, 2303, 2304, 2306],
  "operator-needed": [2001, 2003, 2005, 2100, 2101, 2102, 2103, 2106, 2305, 2307, 2308],
  "not-executed": [2002, 2200, 2202, 2501, 2502],
});

/**
 * The event of a renew's result code. An unknown code is treated like a lost answer: `<info>` decides.
 * @param overrides the registry profile's meanings, code → event; one that a renew cannot have is ignored
 */
export function eventOfRenew(code: number, overrides: Readonly<Record<string, string>>): RenewalEvent {
  const own = overrides[String(code)] as RenewalEvent | undefined;
  if (own !== undefined && nextRenewalState("Processing (renew)", own)) return own;
  return renewEvents.get(code) ?? "unanswered";
}

/** What the registry shows of a name whose term ends. */
type RegistryView =
  | { kind: "held"; exDate: Date; statuses: readonly string[] }
  /** The registry no longer holds it for us, or is deleting it. */
  | { kind: "gone" | "leaving"; reason: string }
  | { kind: "unknown"; reason: string };

export async function lookAtName(sessions: RegistrySessions, { domain_name }: Renewal): Promise<RegistryView> {
  return viewOf(await askInfo(sessions, domain_name, "renewal"));
}

export function viewOf(name: NameInfo): RegistryView {
  if (name.is === "unknown") return { kind: "unknown", reason: name.reason };
  if (name.is === "absent") return { kind: "gone", reason: "the registry does not hold the name" };
  if (name.is === "held-by-other") return { kind: "gone", reason: "the name is held by another registrar" };
  const { exDate, statuses } = name.info;
  if (statuses.includes("pendingDelete")) return { kind: "leaving", reason: "the registry is deleting the name" };
  if (!exDate) return { kind: "unknown", reason: "info brought no exDate" };
  return { kind: "held", exDate, statuses };
}

/** Keeps the time of the second look: a failed look changes nothing about the first one. */
export function lookLost({ confirm_after }: Renewal, reason: string): RenewalOutcome {
  return { event: "look-lost", countsAsFailure: true, reason, confirmAfter: confirm_after ?? undefined };
}

/** The step of `Processing (look)`: decides what to do, while no command is in progress. */
export async function lookBeforeRenew(sessions: RegistrySessions, renewal: Renewal): Promise<RenewalOutcome> {
  const view = await lookAtName(sessions, renewal);
  const { will_renew: isWanted, term_ends_at: termEndsAt } = renewal;
  switch (view.kind) {
    case "unknown":
      return lookLost(renewal, view.reason);
    case "gone":
      return { event: isWanted ? "gone" : "left", reason: view.reason };
    case "leaving":
      return isWanted ? { event: "gone", reason: view.reason } : { event: "not-wanted" };
  }
  const { exDate } = view;
  const base = renewal.base_ex_date ?? termEndsAt;
  const isOver = sessions.context.clock.now() >= termEndsAt;
  // A name that is renewed before its term is over was renewed by our command, even if it was switched off since.
  if (isNextTerm(base, exDate) && (isWanted || !isOver)) return renewed(renewal, base, exDate);
  if (!isWanted) return { event: "not-wanted", exDate };
  if (mayBeRenewedFrom(sessions, renewal, exDate)) {
    const reason = `a renew from ${dayOf(base)} may still arrive, and the registry shows ${dayOf(exDate)} now`;
    return { event: "contradicted", reason };
  }
  const alarm = `it expires on ${exDate.toISOString()} at the registry, and on ${base.toISOString()} here`;
  return { event: "renewable", exDate, baseExDate: exDate, ...(isAnotherDate(exDate, base) && { alarm }) };
}

const dayOf = (date: Date) => date.toISOString().slice(0, 10);

/**
 * Whether an unanswered renew from another date than this one may still be executed. The registry executes only one of two renews
 * with the same curExpDate (RFC 5731 §3.2.3), but perhaps both with different ones. By the next day none is in transit.
 */
function mayBeRenewedFrom(sessions: RegistrySessions, renewal: Renewal, exDate: Date): boolean {
  const { base_ex_date: base } = renewal;
  if (base === null || dayOf(base) === dayOf(exDate)) return false;
  const since = later(sessions, -inTransitMsMax);
  return ofCommand(renewal.attempts, "domain:renew").some(
    ({ result_code, committed_at }) => result_code === null && committed_at > since,
  );
}

/**
 * The name is renewed. A reseller's term is one period, even where the registry has added two: the next renewal finds itself done.
 * A date that is neither one period nor one year (an automatic renewal) later raises an alarm.
 */
function renewed(renewal: Renewal, baseExDate: Date, exDate: Date): RenewalOutcome {
  const { period_years: periodYears } = renewal;
  const isTwice = periodsBetween(baseExDate, exDate, periodYears) === 2;
  const isOff = [1, periodYears].every((years) => isAnotherDate(exDate, termAfter(baseExDate, years)));
  const alarm = isTwice
    ? `the registry moved its expiry by two periods, to ${exDate.toISOString()}`
    : `the registry moved its expiry to ${exDate.toISOString()}, and here it was ${baseExDate.toISOString()}`;
  return {
    event: "renewed",
    exDate,
    renewedUntil: isTwice ? termAfter(baseExDate, periodYears) : exDate,
    ...((isTwice || isOff) && { alarm }),
  };
}

/** What the two commands of a renewal share. */
export const renewalDefaults = {
  purposes: { command: "renewal", info: "renewal" },
  answered: (_sessions, _renewal, { event, attempt, reason }) =>
    event === "answered" ? { event, attempt } : { event, attempt, countsAsFailure: true, reason },
  unreachable: (reason) => ({ event: "not-executed", countsAsFailure: true, reason }),
  invalid: (attempt, reason) => ({
    event: "operator-needed",
    attempt,
    reason: `the command could not be sent: ${reason}`,
  }),
  isLost: (renewal) => renewal.verify_cause === "lost",
  seenOnce: "seen-once",
  unknown: (_sessions, renewal, reason) => lookLost(renewal, reason),
} satisfies Partial<Kind<Renewal, RenewalOutcome>>;

export const renewKind: Kind<Renewal, RenewalOutcome> = {
  ...renewalDefaults,
  command: "domain:renew",

  async frame(sessions, renewal) {
    if (!renewal.will_renew) return { instead: { event: "not-wanted" } };
    if (later(sessions, -lookFreshMs) > renewal.updated_at) return { instead: { event: "not-executed" } };
    const { domain_name: name, registry_ex_date: currentExDate, period_years: periodYears } = renewal;
    return { command: domainRenew({ name, currentExDate, periodYears }) };
  },

  meaning: (code, { profile }) => eventOfRenew(code, profile.renewalResultCodes),

  answered(sessions, renewal, answer) {
    const { event, attempt } = answer;
    if (event === "pending")
      return { event, attempt, nextStepAt: later(sessions, sessions.profile.reconcileIntervalMs) };
    const outcome = renewalDefaults.answered(sessions, renewal, answer);
    const isRefusedAgain = event === "disputed" && renewal.backoff_count + 1 >= disputesMax;
    return isRefusedAgain ? { ...outcome, event: "operator-needed" } : outcome;
  },

  proof: (sessions, renewal, name) => proofOfRenew(sessions, renewal, viewOf(name)),
};

function proofOfRenew(sessions: RegistrySessions, renewal: Renewal, view: RegistryView): Proof<RenewalOutcome> {
  if (view.kind === "unknown") return { is: "unknown", outcome: lookLost(renewal, view.reason) };
  if (view.kind !== "held") return { is: "decided", outcome: { event: "gone", reason: view.reason } };
  const { exDate, statuses } = view;
  const base = renewal.base_ex_date ?? renewal.term_ends_at;
  if (periodsBetween(base, exDate, renewal.period_years) > 0) {
    return { is: "done", outcome: renewed(renewal, base, exDate) };
  }
  if (renewal.verify_cause === "lost" && statuses.includes("pendingRenew")) {
    const nextStepAt = later(sessions, sessions.profile.reconcileIntervalMs);
    return { is: "decided", outcome: { event: "pending", exDate, nextStepAt } };
  }
  return notSeen(sessions, renewal, "the registry reported the renewal as done, but does not show it");
}

/** After a lost answer it was not executed; after a success the registry may show it later. */
export function notSeen(sessions: RegistrySessions, renewal: Renewal, contradiction: string): Proof<RenewalOutcome> {
  const sentAt = renewal.attempts.at(-1)?.committed_at;
  const isLong = sentAt !== undefined && later(sessions, -contradictionMs) > sentAt;
  if (renewal.verify_cause === "answered" && isLong) {
    return { is: "decided", outcome: { event: "contradicted", reason: contradiction } };
  }
  return { is: "not-done", outcome: () => ({ event: "not-seen", countsAsFailure: true }) };
}

/** The step of `Processing (pending)`: whether the registry has approved the renew. */
export async function lookAtPendingRenew(sessions: RegistrySessions, renewal: Renewal): Promise<RenewalOutcome> {
  const view = await lookAtName(sessions, renewal);
  if (view.kind === "gone" || view.kind === "leaving") return { event: "gone", reason: view.reason };
  if (view.kind === "held") {
    const base = renewal.base_ex_date ?? renewal.term_ends_at;
    if (periodsBetween(base, view.exDate, renewal.period_years) > 0) return renewed(renewal, base, view.exDate);
    const reason = "the registry did not approve the renewal";
    if (!view.statuses.includes("pendingRenew")) return { event: "not-seen", countsAsFailure: true, reason };
  }
  return { nextStepAt: later(sessions, sessions.profile.reconcileIntervalMs) };
}
