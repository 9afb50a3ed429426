/**
 * The kind `renew`: a name whose term ends gets another one. Only `<info>` proves that; a command's answer is a reason to look.
 * Beside the attempt rows the registry itself guards against a second execution: a renew carries the current exDate, so one
 * that is sent twice is executed once (RFC 5731 §3.2.3).
 */

import { attentionLookMs } from "#domains/changes/change.ts";
import { eventsByCode, type Kind, type Proof } from "#domains/changes/kind.ts";
import { askInfo, later, type NameInfo, ofCommand } from "#domains/changes/proof.ts";
import { type Absence, reasonOfAbsence, seeAbsence, seePresence } from "#domains/portfolio/looks.ts";
import { type AgreedPrice, agreePrice } from "#domains/registry/agree-price.ts";
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
export type RegistryView =
  | { kind: "held"; exDate: Date; statuses: readonly string[] }
  /** The registry no longer holds it for us. */
  | { kind: "gone"; reason: string; absence: Absence }
  /** The registry is deleting it, and may restore it for us (RFC 3915). */
  | { kind: "leaving"; reason: string; isRestorable: boolean }
  | { kind: "unknown"; reason: string };

export async function lookAtName(sessions: RegistrySessions, renewal: Renewal): Promise<RegistryView> {
  const { domain_name: name, gone_since: goneSince } = renewal;
  const seen = await askInfo(sessions, name, "renewal");
  if (seen.is === "held-by-us" && goneSince !== null) await seePresence(sessions, name, seen.info);
  return viewOf(sessions, renewal, seen);
}

/** A look shows that the name is gone. @returns whether it stays in the portfolio until a later look */
export async function isKept(sessions: RegistrySessions, renewal: Renewal, absence: Absence): Promise<boolean> {
  return (await seeAbsence(sessions, renewal.domain_name, absence)) === "noted";
}

export function viewOf(sessions: RegistrySessions, renewal: Renewal, name: NameInfo): RegistryView {
  if (name.is === "unknown") return { kind: "unknown", reason: name.reason };
  if (name.is !== "held-by-us") return { kind: "gone", reason: reasonOfAbsence(name), absence: name };
  const { statuses, rgpStatuses } = name.info;
  const exDate = sessions.profile.expiry === "ours" ? reckonedExDate(sessions, renewal) : name.info.exDate;
  if (statuses.includes("pendingDelete")) {
    const isRestorable = rgpStatuses.includes("redemptionPeriod");
    return { kind: "leaving", reason: "the registry is deleting the name", isRestorable };
  }
  if (!exDate) return { kind: "unknown", reason: "info brought no exDate" };
  return { kind: "held", exDate, statuses };
}

/** The exDate at a registry that shows none: what was paid, and the years that the registry has added by itself. */
function reckonedExDate({ context, profile }: RegistrySessions, { registry_ex_date }: Renewal): Date {
  let exDate = registry_ex_date;
  if (profile.atExpiry === "auto-renew") while (exDate <= context.clock.now()) exDate = termAfter(exDate, 1);
  return exDate;
}

/** Its dates once the renew was executed, as they are reckoned. */
export function nextTermOf({ base_ex_date: base, term_ends_at: termEndsAt, period_years: years }: Renewal) {
  const exDate = termAfter(base ?? termEndsAt, years);
  return { exDate, renewedUntil: exDate };
}

/** Whether the renew was executed cannot be seen, and a second one might be executed too: an operator must ask the registry. */
function unprovable(sessions: RegistrySessions, why: string): RenewalOutcome {
  const reason = `${why}, and the registry does not show whether the renew was executed: ask it, then settle the renewal`;
  return { event: "unprovable", reason, nextStepAt: later(sessions, attentionLookMs) };
}

/** Keeps the time of the second look: a failed look changes nothing about the first one. */
export function lookLost({ confirm_after }: Renewal, reason: string): RenewalOutcome {
  return { event: "look-lost", countsAsFailure: true, reason, confirmAfter: confirm_after ?? undefined };
}

/**
 * The step of `Processing (look)`: decides what to do, while no command is unanswered. Returns nothing when the name has left, and
 * the renewal with it.
 */
export async function lookBeforeRenew(
  sessions: RegistrySessions,
  renewal: Renewal,
): Promise<RenewalOutcome | undefined> {
  const view = await lookAtName(sessions, renewal);
  const { will_renew: isWanted, term_ends_at: termEndsAt } = renewal;
  switch (view.kind) {
    case "unknown":
      return lookLost(renewal, view.reason);
    case "gone":
      if (!(await isKept(sessions, renewal, view.absence))) return undefined;
      // Its history shows the first look only.
      return {
        ...(renewal.gone_since === null && { event: "gone", reason: view.reason }),
        nextStepAt: later(sessions, attentionLookMs),
      };
    case "leaving":
      return isWanted ? { event: "leaving", reason: view.reason } : { event: "not-wanted" };
  }
  const { exDate } = view;
  const base = renewal.base_ex_date ?? termEndsAt;
  const isOver = sessions.context.clock.now() >= termEndsAt;
  // A name that is renewed before its term is over was renewed by our command, even if it was switched off since.
  if (isNextTerm(base, exDate) && (isWanted || !isOver)) return renewed(renewal, base, exDate);
  if (!isWanted) return { event: "not-wanted", exDate };
  if (sessions.profile.renew === "none") {
    // Nothing can be sent: the registry renews it at the end of its term.
    return { nextStepAt: later(sessions, sessions.profile.reconcileIntervalMs) };
  }
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

/** Nobody has ordered it at a premium price: an operator decides, as about a registry that refuses the question. */
function notAgreed(price: Exclude<AgreedPrice, { is: "agreed" }>): RenewalOutcome {
  const { reason } = price;
  if (price.is === "refused" || price.needsOperator) return { event: "operator-needed", reason };
  return { event: "not-executed", countsAsFailure: true, reason };
}

export const renewKind: Kind<Renewal, RenewalOutcome> = {
  ...renewalDefaults,
  command: "domain:renew",

  async frame(sessions, renewal) {
    if (!renewal.will_renew) return { instead: { event: "not-wanted" } };
    if (later(sessions, -lookFreshMs) > renewal.updated_at) return { instead: { event: "not-executed" } };
    const { domain_name: name, registry_ex_date: currentExDate, period_years: periodYears } = renewal;
    const { period: periodForm } = sessions.profile;
    const price = await agreePrice(sessions, name, { command: "renew", periodYears }, "schedule");
    if (price.is !== "agreed") return { instead: notAgreed(price) };
    const { fee } = price;
    return { command: domainRenew({ name, currentExDate, periodYears, periodForm, ...(fee && { fee }) }) };
  },

  meaning: (code, { profile }) => eventOfRenew(code, profile.renewalResultCodes),

  answered(sessions, renewal, answer) {
    const { event, attempt } = answer;
    if (event === "pending")
      return { event, attempt, nextStepAt: later(sessions, sessions.profile.reconcileIntervalMs) };
    // Nothing will ever show it: the answer is the proof.
    if (event === "answered" && sessions.profile.expiry === "ours") {
      return { event: "renewed", attempt, ...nextTermOf(renewal) };
    }
    const outcome = renewalDefaults.answered(sessions, renewal, answer);
    const isRefusedAgain = event === "disputed" && renewal.backoff_count + 1 >= disputesMax;
    return isRefusedAgain ? { ...outcome, event: "operator-needed" } : outcome;
  },

  proof: (sessions, renewal, name) => proofOfRenew(sessions, renewal, viewOf(sessions, renewal, name)),
};

function proofOfRenew(sessions: RegistrySessions, renewal: Renewal, view: RegistryView): Proof<RenewalOutcome> {
  if (view.kind === "unknown") return { is: "unknown", outcome: lookLost(renewal, view.reason) };
  if (renewal.verify_cause === "unseen" || sessions.profile.expiry === "ours") {
    if (renewal.verify_cause === "answered")
      return { is: "done", outcome: { event: "renewed", ...nextTermOf(renewal) } };
    const why = view.kind === "held" ? "the answer to a renew was lost" : view.reason;
    return { is: "decided", outcome: unprovable(sessions, why) };
  }
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
  if (sessions.profile.expiry === "ours") return lookAtUnseen(sessions, view);
  if (view.kind === "gone" || view.kind === "leaving") return { event: "gone", reason: view.reason };
  if (view.kind === "held") {
    const base = renewal.base_ex_date ?? renewal.term_ends_at;
    if (periodsBetween(base, view.exDate, renewal.period_years) > 0) return renewed(renewal, base, view.exDate);
    const reason = "the registry did not approve the renewal";
    if (!view.statuses.includes("pendingRenew")) return { event: "not-seen", countsAsFailure: true, reason };
  }
  return { nextStepAt: later(sessions, sessions.profile.reconcileIntervalMs) };
}

/** A registry that shows no dates shows of its decision only that it was made. */
function lookAtUnseen(sessions: RegistrySessions, view: RegistryView): RenewalOutcome {
  const isUndecided = view.kind === "unknown" || (view.kind === "held" && view.statuses.includes("pendingRenew"));
  if (isUndecided) return { nextStepAt: later(sessions, sessions.profile.reconcileIntervalMs) };
  return unprovable(sessions, view.kind === "held" ? "a pending renew was decided" : view.reason);
}
