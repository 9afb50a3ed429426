/**
 * What `<info>` says about a name whose term ends: before a renew is sent, after every one, and for a name that is left
 * to end. Only what info shows proves anything; a command's own answer is a reason to look.
 */
import { lateFrameMs } from "#domains/registry/owner-lease.ts";
import type { RegistrySessions } from "#domains/registry/sessions.ts";
import { sessionWaitMs } from "#domains/registry/sessions.ts";
import { readRenewalAttempts } from "#domains/renewals/attempts.ts";
import type { RenewalHappening } from "#domains/renewals/happenings.ts";
import { postponeRenewal, type Renewal } from "#domains/renewals/renewals.ts";
import { isAnotherDate, isNextTerm, periodsBetween, termAfter } from "#domains/renewals/terms.ts";
import { domainInfo } from "#registry/epp/commands/domain/info.ts";
import type { RegistryProfile } from "#registry/registries.ts";

/** When a registry has not shown for so long what it said that it did, somebody has to ask it. */
const contradictionMs = 24 * 60 * 60_000;
/** How often a name is looked at that a registry lets expire: its last stages take weeks. */
const expiringLookMs = 24 * 60 * 60_000;
/** A frame that the network or a machine that stood still has kept for longer is not delivered any more. */
const onItsWayMsMax = 24 * 60 * 60_000;

type Sight =
  | { kind: "held"; exDate: Date; statuses: readonly string[] }
  /** The registry does not hold it for us any more, or is about to give it up. */
  | { kind: "gone" | "leaving"; reason: string }
  | { kind: "unknown"; reason: string };

async function lookAtName(sessions: RegistrySessions, { domain_name }: Renewal): Promise<Sight> {
  try {
    // A night's renewals must not hold up a registration.
    using lease = await sessions.pool.acquire("renewal", { waitMs: sessionWaitMs });
    const { code, data } = await lease.request(domainInfo(domain_name), { clTRID: sessions.queryClTrid() });
    if (code === 2303) return { kind: "gone", reason: "the registry does not hold the name" };
    if (code === 2201 || (data && data.clID !== sessions.profile.registrarId)) {
      return { kind: "gone", reason: "the name is held by another registrar" };
    }
    if (code !== 1000 || !data) return { kind: "unknown", reason: `info was answered with ${code}` };
    const { exDate, statuses } = data;
    if (statuses.includes("pendingDelete")) return { kind: "leaving", reason: "the registry is deleting the name" };
    if (!exDate) return { kind: "unknown", reason: "info brought no exDate" };
    return { kind: "held", exDate, statuses };
  } catch (error) {
    return { kind: "unknown", reason: error instanceof Error ? error.message : String(error) };
  }
}

/** Keeps the time of the second look: not knowing is no reason to believe less. */
function lookLost({ confirm_after }: Renewal, reason: string): RenewalHappening {
  return { event: "look-lost", countsAsFailure: true, reason, confirmAfter: confirm_after ?? undefined };
}

/** Rows 2 to 4: what there is to do. Nothing is under way. */
export async function lookBeforeRenew(sessions: RegistrySessions, renewal: Renewal): Promise<RenewalHappening> {
  const sight = await lookAtName(sessions, renewal);
  const { will_renew: isWanted, term_ends_at: termEndsAt } = renewal;
  switch (sight.kind) {
    case "unknown":
      return lookLost(renewal, sight.reason);
    case "gone":
      return { event: isWanted ? "gone" : "left", reason: sight.reason };
    case "leaving":
      return isWanted ? { event: "gone", reason: sight.reason } : { event: "not-wanted" };
  }
  const { exDate } = sight;
  const base = renewal.base_ex_date ?? termEndsAt;
  const isOver = sessions.context.clock.now() >= termEndsAt;
  // What is renewed before its term is over was renewed by a command of ours, whatever is wished since.
  if (isNextTerm(base, exDate) && (isWanted || !isOver)) return renewed(renewal, base, exDate);
  if (!isWanted) return { event: "not-wanted", exDate };
  if (await mayBeRenewedFrom(sessions, renewal, exDate)) {
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
async function mayBeRenewedFrom({ context }: RegistrySessions, renewal: Renewal, exDate: Date): Promise<boolean> {
  const { base_ex_date: base } = renewal;
  if (base === null || dayOf(base) === dayOf(exDate)) return false;
  const { last_lost_renew_at: lostAt } = await readRenewalAttempts(context, renewal.id);
  return lostAt !== null && context.clock.now().getTime() - lostAt.getTime() < onItsWayMsMax;
}

/**
 * A reseller's term is one period, even where the registry has added two: it is not asked for the second one again. What is
 * neither one period nor the year of a registry that renews by itself is an alarm.
 */
function renewed(renewal: Renewal, baseExDate: Date, exDate: Date): RenewalHappening {
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

/** Rows 14 and 15: whether a renew was executed. */
export async function verifyRenew(sessions: RegistrySessions, renewal: Renewal): Promise<RenewalHappening> {
  const sight = await lookAtName(sessions, renewal);
  if (sight.kind === "unknown") return lookLost(renewal, sight.reason);
  if (sight.kind !== "held") return { event: "gone", reason: sight.reason };
  const { exDate, statuses } = sight;
  const base = renewal.base_ex_date ?? renewal.term_ends_at;
  if (periodsBetween(base, exDate, renewal.period_years) > 0) {
    return seenOnce(sessions, renewal) ?? renewed(renewal, base, exDate);
  }
  if (renewal.verify_cause === "lost" && statuses.includes("pendingRenew")) {
    return { event: "pending", exDate, nextStepAt: later(sessions, sessions.profile.reconcileIntervalMs) };
  }
  return notSeen(sessions, renewal, "the registry said that it renewed the name, and does not show it");
}

/** RFC 5734 §3: a server that loses the connection may still undo what it did. A second look decides. */
function seenOnce(sessions: RegistrySessions, renewal: Renewal): RenewalHappening | undefined {
  if (renewal.verify_cause !== "lost" || renewal.confirm_after !== null) return undefined;
  const confirmAfter = later(sessions, sessions.profile.settleMs);
  return { event: "seen-once", confirmAfter, nextStepAt: confirmAfter };
}

/** After a lost answer it was not executed; after a yes the registry may still be about to show it. */
async function notSeen(sessions: RegistrySessions, renewal: Renewal, contradiction: string): Promise<RenewalHappening> {
  if (renewal.verify_cause === "answered") {
    const { last_at: sentAt } = await readRenewalAttempts(sessions.context, renewal.id);
    const isLong = sentAt !== null && later(sessions, -contradictionMs) > sentAt;
    if (isLong) return { event: "contradicted", reason: contradiction };
  }
  const lateMs = lateFrameMs(sessions.context.lease, sessions.profile.takeoverSettleMs);
  const isLost = renewal.verify_cause === "lost" && lateMs > 0;
  if (isLost && (await readRenewalAttempts(sessions.context, renewal.id)).of_earlier_owners > 0) {
    const reason = "the worker before this one may have sent a command that is still on its way";
    return { ...lookLost(renewal, reason), nextStepAt: later(sessions, lateMs) };
  }
  return { event: "not-seen", countsAsFailure: true };
}

function later({ context }: RegistrySessions, delayMs: number): Date {
  return new Date(context.clock.now().getTime() + delayMs);
}

/** Row 13: what became of a renew that the registry left pending; `undefined` while it still is. */
export async function lookAtPendingRenew(
  sessions: RegistrySessions,
  renewal: Renewal,
): Promise<RenewalHappening | undefined> {
  const sight = await lookAtName(sessions, renewal);
  if (sight.kind === "gone" || sight.kind === "leaving") return { event: "gone", reason: sight.reason };
  if (sight.kind === "held") {
    const base = renewal.base_ex_date ?? renewal.term_ends_at;
    if (periodsBetween(base, sight.exDate, renewal.period_years) > 0) return renewed(renewal, base, sight.exDate);
    const reason = "the registry did not approve the renewal";
    if (!sight.statuses.includes("pendingRenew")) return { event: "not-seen", countsAsFailure: true, reason };
  }
  return lookAgain(sessions, renewal, later(sessions, sessions.profile.reconcileIntervalMs));
}

async function lookAgain({ context }: RegistrySessions, renewal: Renewal, at: Date): Promise<undefined> {
  await postponeRenewal(context, renewal, at);
}

/** Rows 17 to 19: a name that is not to be renewed, until its term is over and after. */
export async function waitForEnd(sessions: RegistrySessions, renewal: Renewal): Promise<RenewalHappening | undefined> {
  const { context, profile } = sessions;
  const { term_ends_at: termEndsAt } = renewal;
  if (renewal.will_renew) return { event: "wanted" };
  if (context.clock.now() < termEndsAt) return lookAgain(sessions, renewal, termEndsAt);
  const sight = await lookAtName(sessions, renewal);
  if (sight.kind === "unknown") return lookLost(renewal, sight.reason);
  if (sight.kind === "gone") return { event: "left", reason: sight.reason };
  if (sight.kind === "held" && isNextTerm(termEndsAt, sight.exDate)) {
    const { exDate } = sight;
    const reason = whyNotByItself(profile, termEndsAt, exDate);
    return reason === undefined
      ? { event: "renewed-by-registry", exDate }
      : { event: "operator-needed", exDate, reason };
  }
  const delayMs = profile.atExpiry === "auto-renew" ? profile.reconcileIntervalMs : expiringLookMs;
  return lookAgain(sessions, renewal, later(sessions, delayMs));
}

/** Why a registry cannot have renewed a name that nobody wants: then somebody did, who may want it. */
function whyNotByItself({ atExpiry }: RegistryProfile, termEndsAt: Date, exDate: Date): string | undefined {
  if (atExpiry === "expire") return "the name was renewed at a registry that lets names expire, and it should not be";
  if (!isNextTerm(termAfter(termEndsAt, 1), exDate)) return undefined;
  return `the name expires on ${exDate.toISOString()}, which is more than the year that the registry renews it for by itself`;
}

/** Whether the registry is giving the name up, or does not hold it for us any more: then there is nothing left to delete. */
export async function isLeaving(sessions: RegistrySessions, renewal: Renewal): Promise<boolean> {
  const { kind } = await lookAtName(sessions, renewal);
  return kind === "leaving" || kind === "gone";
}

/** Rows 21 and 22: whether the delete was executed. A name that the registry still keeps for redemption has left us. */
export async function verifyDelete(sessions: RegistrySessions, renewal: Renewal): Promise<RenewalHappening> {
  const sight = await lookAtName(sessions, renewal);
  if (sight.kind === "unknown") return lookLost(renewal, sight.reason);
  if (sight.kind === "held") {
    return notSeen(sessions, renewal, "the registry said that it deleted the name, and still shows it");
  }
  return seenOnce(sessions, renewal) ?? { event: "left", reason: "it was not to be renewed" };
}
