/**
 * The kind `renew`: a name whose term ends gets another one. Only what `<info>` shows proves anything; a command's own answer is
 * a reason to look. Beside the attempt rows there is the registry's own guard: a renew names the exDate that it was built on, so
 * one that is sent twice is executed once (RFC 5731 §3.2.3).
 */

import type { Kind } from "#domains/changes/kind.ts";
import { askInfo, later, type NameInfo, ofCommand, type Proof } from "#domains/changes/proof.ts";
import type { RegistrySessions } from "#domains/registry/sessions.ts";
import type { Renewal, RenewalOutcome } from "#domains/renewals/renewals.ts";
import { nextRenewalState, type RenewalEvent } from "#domains/renewals/states.ts";
import { isAnotherDate, isNextTerm, periodsBetween, termAfter } from "#domains/renewals/terms.ts";
import { domainRenew } from "#registry/epp/commands/domain/renew.ts";

const dayMs = 24 * 60 * 60_000;
/** When a registry has not shown for so long what it said that it did, somebody has to ask it. */
const contradictionMs = dayMs;
/** A frame that the network or a machine that stood still has kept for longer is not delivered any more. */
const inTransitMsMax = dayMs;
/** A renew is not built on a look older than this. */
const lookFreshMs = dayMs;
/** So often a registry may refuse a renew, while info shows nothing that explains it, before a person has to look. */
const disputesMax = 5;

/**
 * What a `<renew>`'s result code means for a renewal (RFC 5730 §3), where a registry's profile says nothing else.
 * `disputed` are those with which registries answer a curExpDate that is not their exDate, and more: info decides.
 */
const renewEvents: Readonly<Record<number, RenewalEvent>> = {
  1000: "answered",
  1001: "pending",
  2001: "operator-needed",
  2002: "not-executed",
  2003: "operator-needed",
  2004: "disputed",
  2005: "operator-needed",
  2100: "operator-needed",
  2101: "operator-needed",
  2102: "operator-needed",
  2103: "operator-needed",
  2104: "out-of-credit",
  2105: "disputed",
  2106: "operator-needed",
  2200: "not-executed",
  2201: "disputed",
  2202: "not-executed",
  2303: "disputed",
  2304: "disputed",
  2305: "operator-needed",
  2306: "disputed",
  2307: "operator-needed",
  2308: "operator-needed",
  2501: "not-executed",
  2502: "not-executed",
};

/**
 * The event of a renew's result code. A code that nobody has described is treated like a lost answer: the name is looked
 * at before anything else is done.
 * @param overrides the registry profile's own meanings, code → event; one that a renew cannot have counts for nothing
 */
export function eventOfRenew(code: number, overrides: Readonly<Record<string, string>>): RenewalEvent {
  const own = overrides[String(code)] as RenewalEvent | undefined;
  if (own !== undefined && nextRenewalState("Processing (renew)", own)) return own;
  return renewEvents[code] ?? "unanswered";
}

/** What the registry shows of a name whose term ends. */
type RegistryView =
  | { kind: "held"; exDate: Date; statuses: readonly string[] }
  /** The registry does not hold it for us any more, or is about to give it up. */
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

/** Keeps the time of the second look: not knowing is no reason to believe less. */
export function lookLost({ confirm_after }: Renewal, reason: string): RenewalOutcome {
  return { event: "look-lost", countsAsFailure: true, reason, confirmAfter: confirm_after ?? undefined };
}

/** Rows 2 to 4: what there is to do. Nothing is under way. */
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
  // What is renewed before its term is over was renewed by a command of ours, whatever is wished since.
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
 * Whether a renew from another date than this one may be executed yet, because no answer to it is known. Two that name the same
 * curExpDate are executed once (RFC 5731 §3.2.3), two that name different ones perhaps twice. By the next day none is on its way.
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
 * A reseller's term is one period, even where the registry has added two: it is not asked for the second one again. What is
 * neither one period nor the year of a registry that renews by itself is an alarm.
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

/** What both commands of a renewal have alike. */
export const renewalDefaults = {
  lanes: { command: "renewal", info: "renewal" },
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

/** Rows 5 to 12, 14 and 15: the renew of a name whose exDate was just looked at, unless the wish has changed. */
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
    const isStubborn = event === "disputed" && renewal.backoff_count + 1 >= disputesMax;
    return isStubborn ? { ...outcome, event: "operator-needed" } : outcome;
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
  return notSeen(sessions, renewal, "the registry said that it renewed the name, and does not show it");
}

/** After a lost answer it was not executed; after a yes the registry may still be about to show it. */
export function notSeen(sessions: RegistrySessions, renewal: Renewal, contradiction: string): Proof<RenewalOutcome> {
  const sentAt = renewal.attempts.at(-1)?.committed_at;
  const isLong = sentAt !== undefined && later(sessions, -contradictionMs) > sentAt;
  if (renewal.verify_cause === "answered" && isLong) {
    return { is: "decided", outcome: { event: "contradicted", reason: contradiction } };
  }
  return { is: "not-done", outcome: () => ({ event: "not-seen", countsAsFailure: true }) };
}

/** Row 13: what became of a renew that the registry left pending. */
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
