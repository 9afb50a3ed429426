/**
 * The kind `renew`: a renewal that the reseller asks for, or that the schedule has placed for a term that ends. Only `<info>` proves
 * it: the exDate has moved by what was ordered. Beside the attempt rows the registry itself guards against a second execution: a
 * renew carries the current exDate, so one that is sent twice is executed once (RFC 5731 §3.2.3).
 */

import { postponeLook } from "#domains/compare/looks.ts";
import { atAgreedPrice } from "#domains/kinds/agreed-price.ts";
import { isScheduled, whileInPortfolio } from "#domains/kinds/scheduled.ts";
import { type OrderKind, type Plan, refusedByStatus, whileHeld } from "#domains/orders/kind.ts";
import { type Order, type OrderEnd, ofCommand } from "#domains/orders/order.ts";
import { isRefusal, meaningOf } from "#domains/orders/result-codes.ts";
import { later } from "#domains/registry/ask.ts";
import type { RegistrySessions } from "#domains/registry/sessions.ts";
import {
  dayOf,
  isAnotherDate,
  isNextTerm,
  mayBeAutoRenewed,
  periodsBetween,
  termAfter,
  yearsBetween,
} from "#domains/registry/terms.ts";
import { dayMs } from "#lib/clock.ts";
import type { Money } from "#registry/epp/commands/domain/fee.ts";
import type { DomainInfo } from "#registry/epp/commands/domain/info.ts";
import { domainRenew } from "#registry/epp/commands/domain/renew.ts";

/** As JSON in the order's row. */
export interface OrderedRenewal {
  years: number;
  /** The end of the term that it renews. */
  expiration_date: string;
}

/** What the first command said; written before it was sent. */
interface Sent {
  /** Its curExpDate. */
  base_ex_date?: string;
  /** What the registry had not renewed by itself. */
  years_left?: number;
}

/** RFC 5731 §2.3. With these statuses a renew is refused, and none of them is ours. */
const forbidding = ["clientRenewProhibited", "serverRenewProhibited", "pendingDelete"];
/** A frame that was delayed for longer, by the network or a suspended machine, is no longer delivered. */
const inTransitMsMax = dayMs;

const renewName = "domain:renew";

export const renewOrderKind: OrderKind = {
  name: "renew",
  isUrgent: true,
  isPaid: true,
  pendingStatus: "pendingRenew",
  plan: whileInPortfolio(whileHeld(planRenew)),

  settledEnd({ shown, found }) {
    if (shown?.ex_date) return { renewedUntil: new Date(shown.ex_date) };
    const { base_ex_date: base, years_left: years } = found as Sent;
    return base === undefined || years === undefined ? {} : { renewedUntil: termAfter(new Date(base), years) };
  },
};

function planRenew(sessions: RegistrySessions, order: Order, info: DomainInfo): Plan | Promise<Plan> {
  const isDateOurs = sessions.profile.expiry === "ours";
  const exDate = isDateOurs ? reckonedExDate(sessions, order) : info.exDate;
  if (!exDate) return { is: "unknown", reason: "info brought no exDate" };
  if (isScheduled(order) && info.statuses.includes("pendingDelete")) {
    return unclear("the registry is deleting the name");
  }
  const { base_ex_date: sentFrom, years_left: sentYears } = order.found as Sent;
  if (sentFrom === undefined || sentYears === undefined || !mayBeExecuted(sessions, order)) {
    return planFirst(sessions, order, info, exDate);
  }
  const base = new Date(sentFrom);
  if (isDateOurs) return planUnseen(sessions, order, base, sentYears);
  if (periodsBetween(base, exDate, sentYears) > 0) return { is: "done", end: endOf(order, base, sentYears, exDate) };
  // The registry executes only one of several renews with the same curExpDate (RFC 5731 §3.2.3), but perhaps two with different ones.
  if (!isAnotherDate(base, exDate)) return planSend(sessions, order, info, base, sentYears);
  return unclear(
    `a renew of ${sentYears} years from ${dayOf(base)} may still arrive, and the registry shows ${dayOf(exDate)} now`,
  );
}

/** Only a person can find out more. */
function unclear(reason: string): Plan {
  return { is: "unknown", reason, operatorNote: reason };
}

/** The exDate at a registry that shows none: what was paid, and the years that the registry has added by itself. */
function reckonedExDate({ context, profile }: RegistrySessions, { registry_ex_date }: Order): Date | undefined {
  if (registry_ex_date === null) return undefined;
  let exDate = registry_ex_date;
  if (profile.atExpiry === "auto-renew") while (exDate <= context.clock.now()) exDate = termAfter(exDate, 1);
  return exDate;
}

/** At a registry that shows no dates an answer is the proof; without one, a second renew might be executed too. */
function planUnseen({ profile }: RegistrySessions, order: Order, base: Date, years: number): Plan {
  const isTaken = ofCommand(order.attempts, renewName).some(
    ({ result_code: code }) => code !== null && meaningOf(code, "renew", profile) === "answered",
  );
  if (isTaken) return { is: "done", end: { renewedUntil: termAfter(base, years) } };
  const what = order.status === "Pending" ? "a pending renew was decided" : "the answer to a renew was lost";
  return unclear(
    `${what}, and the registry does not show whether the renew was executed: ask it, then settle the renewal`,
  );
}

/** What the registry has renewed by itself counts, and what it has given beyond an earlier order. */
async function planFirst(sessions: RegistrySessions, order: Order, info: DomainInfo, exDate: Date): Promise<Plan> {
  const { years, expiration_date } = order.input as OrderedRenewal;
  if (isScheduled(order)) {
    const base = new Date((order.found as Sent).base_ex_date ?? expiration_date);
    // A registry that renews automatically does so for one year, whatever our period.
    if (isNextTerm(base, exDate)) return { is: "done", end: endOf(order, base, years, exDate) };
    return planSend(sessions, order, info, exDate, years);
  }
  const term = new Date(expiration_date);
  const isExtended = isNextTerm(term, exDate);
  if (isExtended && !isExplained(sessions, order, info, term)) return refuseExtended(sessions, order, exDate);
  const renewedYears = isExtended ? yearsBetween(term, exDate) : 0;
  if (renewedYears >= years) return { is: "done", end: endOf(order, term, years, exDate) };
  return planSend(sessions, order, info, exDate, years - renewedYears);
}

/** Whether it is known why the registry shows a later term than the one that an order renews, and that no reseller has paid for it. */
function isExplained({ context, profile }: RegistrySessions, order: Order, info: DomainInfo, term: Date): boolean {
  const { expiration_date: here, registry_ex_date: known } = order;
  if (here === null || known === null || isNextTerm(term, here)) return false;
  const termEndsAt = known < term ? known : term;
  return isNextTerm(term, known) || mayBeAutoRenewed(profile, info, { termEndsAt, now: context.clock.now() });
}

/** The term has been paid for: here, in a time that a restored database has lost, or by an operator at the registry. */
async function refuseExtended({ context }: RegistrySessions, order: Order, exDate: Date): Promise<Plan> {
  // The look that follows takes over the new term as a whole.
  order.shown = undefined;
  await context.database.query(postponeLook, { name: order.domain_name, look_at: context.clock.now() });
  const shown = exDate.toISOString();
  const reason = `the registry shows a renewal until ${shown} that this order did not make, so nothing was sent: to renew the name further, order with this date`;
  return { is: "refused", as: "rejected", reason };
}

function planSend(sessions: RegistrySessions, order: Order, info: DomainInfo, base: Date, years: number): Plan {
  const { profile } = sessions;
  const { domain_name: name } = order;
  if (profile.renew === "none") {
    // Nothing can be sent: the registry renews the name at the end of its term.
    if (isScheduled(order)) return { is: "wait", until: later(sessions, profile.reconcileIntervalMs) };
    return { is: "refused", as: "failed", reason: "the registry renews names by itself, and has no renew command" };
  }
  const refused = refusedByStatus(info, forbidding, "does not renew");
  if (refused) return refused;
  if (profile.period === "none" && years !== profile.renewalYears) {
    const reason = `the registry renews names for ${profile.renewalYears} years only, and ${years} are to be sent`;
    return { is: "refused", as: "rejected", reason };
  }
  const sent: Sent = { base_ex_date: base.toISOString(), years_left: years };
  const renew = (fee?: Money) =>
    domainRenew({ name, currentExDate: base, periodYears: years, periodForm: profile.period, ...(fee && { fee }) });
  const command = atAgreedPrice(sessions, order, { command: "renew", periodYears: years }, renew);
  return { is: "send", command, found: sent };
}

/** Whether one of its commands was not refused for certain. Even if `<info>` has shown nothing of it, it may still arrive. */
function mayBeExecuted(sessions: RegistrySessions, order: Order): boolean {
  const { profile } = sessions;
  const isDateOurs = profile.expiry === "ours";
  // What the schedule orders is repeated without an operator once `<info>` has shown that it was not executed and no frame is in transit.
  const since = isScheduled(order) && !isDateOurs ? later(sessions, -inTransitMsMax) : undefined;
  const isInDoubt = order.phase === "verify" || order.status === "Pending";
  return order.attempts.some(({ result_code: code, committed_at: sentAt, answered_at: answeredAt }) => {
    // Where nothing shows that a renew was not executed, its attempt stays open; one that was closed was not sent.
    if (code === null) return isDateOurs ? answeredAt === null : since === undefined || sentAt > since;
    if (isRefusal(meaningOf(code, "renew", profile))) return false;
    return isInDoubt || since === undefined;
  });
}

/**
 * A reseller's term moves by what it ordered, even where the registry's has moved by more. The next scheduled renewal then finds
 * itself done.
 */
function endOf(order: Order, base: Date, years: number, exDate: Date): OrderEnd {
  if (isScheduled(order)) return endOfScheduled(order, base, years, exDate);
  const wanted = termAfter(base, years);
  if (!isNextTerm(wanted, exDate)) return { renewedUntil: exDate };
  const alarm = `the registry moved its expiry to ${exDate.toISOString()}, and ${wanted.toISOString()} was ordered`;
  return { renewedUntil: wanted, alarm };
}

/** A date that is neither one period nor one year (an automatic renewal) later raises an alarm. */
function endOfScheduled(order: Order, base: Date, years: number, exDate: Date): OrderEnd {
  const term = new Date((order.input as OrderedRenewal).expiration_date);
  const [shown, before] = [exDate.toISOString(), base.toISOString()];
  if (periodsBetween(base, exDate, years) === 2) {
    const alarm = `the registry moved its expiry by two periods, to ${shown}`;
    return { renewedUntil: termAfter(base, years), alarm };
  }
  if ([1, years].every((period) => isAnotherDate(exDate, termAfter(base, period)))) {
    const alarm = `the registry moved its expiry to ${shown}, and here it was ${before}`;
    return { renewedUntil: exDate, alarm };
  }
  if (!isAnotherDate(base, term)) return { renewedUntil: exDate };
  return {
    renewedUntil: exDate,
    alarm: `it expired on ${before} at the registry, and on ${term.toISOString()} here`,
  };
}
