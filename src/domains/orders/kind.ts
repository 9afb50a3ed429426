/**
 * A kind of order about a registered name: which command makes the difference between what was ordered and what the registry
 * shows. All kinds share the rest: each send takes its difference from a fresh `<info>`, and an order is done when there is none
 * left (docs/changes.md).
 */

import type { ChangeEnd, ChangeKindName, ChangeOrder, ChangeOutcome } from "#domains/orders/change-orders.ts";
import type { ChangeEvent } from "#domains/orders/change-states.ts";
import { type Answer, eventsByCode, type Kind, type Proof } from "#domains/orders/send.ts";
import { shownOf } from "#domains/portfolio/shown.ts";
import { type AgreedPrice, agreePrice } from "#domains/registry/agree-price.ts";
import { type Ask, askInfo, askInfoOn, askOn, askOnce, later, type NameInfo } from "#domains/registry/ask.ts";
import type { RegistrySessions } from "#domains/registry/sessions.ts";
import { isSuccess } from "#registry/epp/codes.ts";
import type { EppCommand } from "#registry/epp/command.ts";
import type { Money } from "#registry/epp/commands/domain/fee.ts";
import type { DomainInfo } from "#registry/epp/commands/domain/info.ts";
import type { SessionPurpose } from "#registry/epp/pool/pool.ts";
import type { PaidCommand } from "#registry/premium.ts";

/** What is left to do. */
export type Plan =
  /** The registry shows what was ordered. */
  | { is: "done"; end?: ChangeEnd }
  /**
   * @param found what later steps need to know; written before the command is sent
   * @param priced a command that costs money, and how it is sent with the price that is agreed to
   * @param isNext it is not the last command once more, although it has the same name
   */
  | { is: "send"; command: EppCommand<unknown>; found?: object; priced?: Priced; isNext?: boolean }
  /**
   * Something else comes first, and sends at most one command of its own. Its success is the event `prepared`.
   * @param giveUp after a lost answer, once the command was certainly not executed or its effect cannot be found
   */
  | { is: "prepare"; prepare(): Promise<ChangeOutcome>; giveUp(): Promise<void> }
  /** Not yet. @param reason why, for people, if something has changed */
  | { is: "wait"; until: Date; reason?: string }
  /** It cannot be done: `rejected` because of what was ordered, `failed` because of what the registry shows. */
  | { is: "refused"; as: "rejected" | "failed"; reason: string }
  /** It cannot be done until an operator has helped: meanwhile others about the name may pass. */
  | { is: "held"; reason: string; operatorNote: string }
  /** The registry did not show enough: ask again. @param operatorNote only a person can find out more */
  | { is: "unknown"; reason: string; operatorNote?: string };

interface Priced {
  asked: PaidCommand;
  withFee(fee: Money): EppCommand<unknown>;
}

/** What an order's `found` has of the price that its last command agreed to. */
export interface FoundFee {
  fee?: Money | undefined;
}

export interface OrderKind {
  name: ChangeKindName;
  /** Goes before orders that only set a value, and is never replaced by a newer one. */
  isUrgent: boolean;
  /** Costs money: an account may place a limited number of them in a day. */
  isPaid?: true;
  /** Each of its orders is carried out: a newer one does not replace one that was not sent yet. */
  isEachDone?: true;
  /** Each field of its input is a value of its own: what a newer order leaves out is still wanted. */
  isByField?: true;
  /** What info shows while a command of this kind is pending (1001; RFC 5731 §2.3); a kind without one is never pending. */
  pendingStatus?: string;
  /** What is left to do, from a fresh `<info>`. @param ask for what `<info>` about the name does not show */
  plan(sessions: RegistrySessions, order: ChangeOrder, name: NameInfo, ask: Ask): Plan | Promise<Plan>;
  /**
   * What ends with an order that an operator settles as done, although the registry does not show it. An urgent kind without it
   * cannot be settled like this: the name would be where it is not.
   */
  settledEnd?(order: ChangeOrder): ChangeEnd;
  /** The event of a result code, where it is not the usual one. */
  meaning?(code: number, sessions: RegistrySessions): ChangeEvent | undefined;
  /** What becomes of a refusal, where the order does something else before it ends. @param command that the registry has refused */
  refused?(order: ChangeOrder, refusal: ChangeOutcome, command?: string): ChangeOutcome;
  /** What its next plan must know about a command that was refused, though `<info>` had not shown why. */
  disputed?(sessions: RegistrySessions, order: ChangeOrder, clTrid: string, code: number): Promise<void>;
}

/** A plan for a name that we hold; without it the order fails. */
export function whileHeld(
  plan: (sessions: RegistrySessions, order: ChangeOrder, info: DomainInfo, ask: Ask) => Plan | Promise<Plan>,
): OrderKind["plan"] {
  return (sessions, order, name, ask) => {
    switch (name.is) {
      case "unknown":
        return name;
      case "absent":
        return { is: "refused", as: "failed", reason: "the registry no longer holds the name" };
      case "held-by-other":
        return { is: "refused", as: "failed", reason: "another registrar holds the name now" };
      case "held-by-us":
        return plan(sessions, order, name.info, ask);
    }
  };
}

/**
 * Refuses a command that statuses forbid (RFC 5731 §2.3). None of them is removed that we did not set.
 * @param refusal e.g. "does not renew"
 */
export function refusedByStatus(
  { statuses }: DomainInfo,
  forbidding: readonly string[],
  refusal: string,
): Extract<Plan, { is: "refused" }> | undefined {
  const found = statuses.filter((status) => forbidding.includes(status));
  if (found.length === 0) return undefined;
  return { is: "refused", as: "failed", reason: `the registry ${refusal} the name: it shows ${found.join(", ")}` };
}

/** How often a registry may refuse a command without `<info>` showing why. */
const disputesMax = 3;
/** How long an order waits for the registrar's account to be topped up (2104). */
const creditWaitMsMax = 24 * 60 * 60_000;
/** If the registry has not shown for this long what it reported as done, an operator must ask it. */
const contradictionMs = 24 * 60 * 60_000;

/** What result codes mean (RFC 5730 §3). `disputed`: what info showed may be outdated, or a host or contact gone. */
const eventsOfCodes = eventsByCode<ChangeEvent>({
  answered: [1000],
  pending: [1001],
  rejected: [2001, 2003, 2004, 2005, 2308],
  disputed: [2201, 2302, 2303, 2305, 2306],
  failed: [2100, 2101, 2102, 2103, 2105, 2106, 2304, 2307],
  "out-of-credit": [2104],
  "not-executed": [2002, 2200, 2202, 2501, 2502],
});

/** Refused because of our configuration. */
const configurationCodes = [2100, 2101, 2102, 2103, 2307];
/** RFC 5730 §3: a parameter value policy error. */
const policyCode = 2306;
const creditCode = 2104;

/** Orders of the schedule have weeks, and there may be thousands. */
export function purposeOf({ renewal_id, is_urgent }: ChangeOrder): SessionPurpose {
  if (renewal_id !== null) return "renewal";
  return is_urgent ? "urgent-change" : "change";
}

/** An order's kind as the machine of all changes knows it. */
export function commandsOf(kind: OrderKind, of: ChangeOrder): Kind<ChangeOrder, ChangeOutcome> {
  const purpose = purposeOf(of);
  return {
    purposes: { command: purpose, info: purpose },

    async frame(sessions, order) {
      const plan = await lookAndPlan(sessions, order, kind, await askInfo(sessions, order.domain_name, purpose));
      if (plan.is === "prepare") return { instead: await plan.prepare() };
      if (plan.is !== "send") return { instead: outcomeOf(kind, order, plan) };
      const { command, found, priced } = plan;
      // After the look, so that nothing is asked about a command that is not sent, and no price decides about one that was.
      const by = order.renewal_id === null ? "order" : "schedule";
      const price = priced && (await agreePrice(sessions, order.domain_name, priced.asked, by));
      if (price && price.is !== "agreed") return { instead: keptOpen(kind, order, notAgreed(order, price)) };
      order.found = { ...(order.found as object), ...found, fee: price?.fee } satisfies FoundFee;
      return { command: priced && price?.fee ? priced.withFee(price.fee) : command };
    },

    async checkBeforeRepeat(session, sessions, order) {
      const name = await askInfoOn(session, sessions, order.domain_name);
      const plan = await lookAndPlan(sessions, order, kind, name, askOn(session, sessions));
      if (plan.is === "send") return undefined;
      return { event: "not-executed", countsAsFailure: true, reason: "an info has changed since the last one" };
    },

    meaning: (code, sessions) => kind.meaning?.(code, sessions) ?? eventsOfCodes.get(code) ?? "unanswered",
    async answered(sessions, order, answer) {
      const { event, attempt, response } = answer;
      if (event === "disputed") await kind.disputed?.(sessions, order, attempt.clTrid, response.code);
      return keptOpen(kind, order, readAnswer(sessions, order, answer), answer.command);
    },
    unreachable: (reason) => ({ event: "not-executed", countsAsFailure: true, reason }),
    invalid(attempt, reason, isNotOffered) {
      // The registry's profile promises more than the registry offers.
      if (isNotOffered) return keptOpen(kind, of, { event: "failed", attempt, operatorNote: reason, reason });
      const operatorNote = `the command could not be sent: ${reason}`;
      const said = "the registry's rules do not allow these values";
      return keptOpen(kind, of, { event: "rejected", attempt, operatorNote, reason: said });
    },
    proof: (sessions, order, name) => proofOf(sessions, order, kind, name),
    isLost: (order) => order.verify_cause === "lost",
    seenOnce: "seen-once",
    unknown: (_sessions, order, reason) => lookLost(order, reason),
  };
}

export const isRefusal = ({ event }: ChangeOutcome) => event === "failed" || event === "rejected";

/** What the schedule has ordered is not given up because it is refused: an operator is called, and it is tried again. */
function keptOpen(kind: OrderKind, order: ChangeOrder, outcome: ChangeOutcome, command?: string): ChangeOutcome {
  if (!isRefusal(outcome)) return outcome;
  const refused = kind.refused?.(order, outcome, command) ?? outcome;
  if (!isRefusal(refused) || order.renewal_id === null || !order.is_in_portfolio) return refused;
  const { attempt, reason, operatorNote = reason } = refused;
  return { ...refused, event: attempt ? "not-executed" : "look-lost", operatorNote, countsAsFailure: true };
}

export async function lookAndPlan(
  sessions: RegistrySessions,
  order: ChangeOrder,
  kind: OrderKind,
  name: NameInfo,
  ask = askOnce(sessions, purposeOf(order)),
): Promise<Plan> {
  order.shown = name.is === "held-by-us" ? shownOf(name.info) : undefined;
  return kind.plan(sessions, order, name, ask);
}

function notAgreed(order: ChangeOrder, price: Exclude<AgreedPrice, { is: "agreed" }>): ChangeOutcome {
  const { reason } = price;
  if (price.is === "refused") return { event: "rejected", reason, shown: order.shown };
  return lookLost(order, reason, price.needsOperator ? reason : undefined);
}

function outcomeOf(
  kind: OrderKind,
  order: ChangeOrder,
  plan: Exclude<Plan, { is: "send" | "prepare" }>,
): ChangeOutcome {
  const { shown } = order;
  switch (plan.is) {
    case "done":
      return { event: "done", shown, end: plan.end };
    case "refused":
      return keptOpen(kind, order, { event: plan.as, reason: plan.reason, shown });
    case "held":
      return { ...lookLost(order, plan.reason, plan.operatorNote), shown };
    case "wait":
      return { ...(plan.reason !== undefined && sayOnce(order, plan.reason)), nextStepAt: plan.until };
    case "unknown":
      return lookLost(order, plan.reason, plan.operatorNote);
  }
}

/** An order that waits for long looks often, and its history says once why. */
function sayOnce(order: ChangeOrder, reason: string): ChangeOutcome {
  return order.reason === reason ? {} : { event: "look-lost", reason, confirmAfter: order.confirm_after ?? undefined };
}

/** Keeps the time of the second look: a failed look changes nothing about the first one. */
function lookLost({ confirm_after }: ChangeOrder, reason: string, operatorNote?: string): ChangeOutcome {
  const confirmAfter = confirm_after ?? undefined;
  return { event: "look-lost", countsAsFailure: true, reason, confirmAfter, operatorNote };
}

function readAnswer(
  sessions: RegistrySessions,
  order: ChangeOrder,
  { command, event, attempt, response, reason: said }: Answer<ChangeOutcome, unknown>,
): ChangeOutcome {
  const { shown } = order;
  const reason = `${command}: ${said}`;
  switch (event) {
    case "answered":
      // A host or a contact is ready: what is left to do, info shows.
      return { event: command.startsWith("domain:") ? event : "prepared", attempt };
    case "pending":
      // What the domain shows now is taken over at once. A host or a contact is not ready yet.
      if (command.startsWith("domain:")) return { event, attempt };
      return { event: "prepared", attempt, nextStepAt: later(sessions, sessions.profile.reconcileIntervalMs) };
    case "disputed": {
      if (order.disputes + 1 < disputesMax) return { event, attempt, reason, isDispute: true, countsAsFailure: true };
      return { event: response.code === policyCode ? "rejected" : "failed", attempt, reason, shown };
    }
    case "failed": {
      const isOurs = configurationCodes.includes(response.code);
      const statuses = shown ? `; the registry shows ${shown.statuses.join(", ")}` : "";
      return { event, attempt, shown, reason: reason + statuses, ...(isOurs && { operatorNote: reason }) };
    }
    case "out-of-credit":
      // The alarm is about all renewals of the registry.
      if (order.renewal_id !== null) return { event, attempt, reason, countsAsFailure: true };
      return outOfCredit(sessions, order, attempt, reason);
    case "rejected":
      return { event, attempt, reason, shown };
    default:
      return { event, attempt, reason, countsAsFailure: true };
  }
}

function outOfCredit(
  { context }: RegistrySessions,
  order: ChangeOrder,
  attempt: ChangeOutcome["attempt"],
  reason: string,
): ChangeOutcome {
  const now = context.clock.now();
  if (now.getTime() - (withoutCreditSince(order) ?? now).getTime() > creditWaitMsMax) {
    return { event: "failed", attempt, reason, shown: order.shown };
  }
  const operatorNote = `it waits for credit at ${order.registry_id}: ${reason}`;
  return { event: "out-of-credit", attempt, reason, operatorNote, countsAsFailure: true };
}

/** When the registry first refused its present command for lack of credit. */
function withoutCreditSince({ attempts }: ChangeOrder): Date | undefined {
  const taken = attempts.findLastIndex(({ result_code: code }) => code !== null && isSuccess(code));
  return attempts.slice(taken + 1).find(({ result_code: code }) => code === creditCode)?.committed_at;
}

async function proofOf(
  sessions: RegistrySessions,
  order: ChangeOrder,
  kind: OrderKind,
  name: NameInfo,
): Promise<Proof<ChangeOutcome>> {
  const { context, profile } = sessions;
  const plan = await lookAndPlan(sessions, order, kind, name);
  const { shown } = order;
  const nextStepAt = later(sessions, profile.reconcileIntervalMs);
  switch (plan.is) {
    case "unknown":
      return { is: "unknown", outcome: lookLost(order, plan.reason, plan.operatorNote) };
    case "done":
      return { is: "done", outcome: { event: "done", shown, end: plan.end } };
    case "wait":
      return { is: "decided", outcome: outcomeOf(kind, order, plan) };
    case "held": {
      // An order that waits for an operator does not hold up the others about the name.
      if (order.verify_cause !== "lost") return { is: "decided", outcome: { event: "next", shown } };
      return { is: "not-done", outcome: () => ({ event: "not-seen", shown }) };
    }
    case "refused":
      return { is: "decided", outcome: keptOpen(kind, order, { event: "failed", reason: plan.reason, shown }) };
    case "prepare":
    case "send": {
      if (order.verify_cause === "lost") {
        if (isPending(order, kind)) {
          return { is: "decided", outcome: { event: "pending", nextStepAt, shown } };
        }
        return {
          is: "not-done",
          async outcome() {
            if (plan.is === "prepare") await plan.giveUp();
            return { event: "not-seen", countsAsFailure: true };
          },
        };
      }
      const sent = order.attempts.at(-1);
      if (plan.is === "prepare" || plan.isNext || plan.command.name !== sent?.command)
        return { is: "decided", outcome: { event: "next" } };
      const isLong = context.clock.now().getTime() - sent.committed_at.getTime() > contradictionMs;
      const operatorNote = "the registry reported the change as done, but does not show it";
      const outcome: ChangeOutcome = { event: "not-seen", countsAsFailure: true, ...(isLong && { operatorNote }) };
      return { is: "decided", outcome };
    }
  }
}

const isPending = ({ shown }: ChangeOrder, { pendingStatus }: OrderKind) =>
  pendingStatus !== undefined && shown?.statuses.includes(pendingStatus) === true;

/** The step of `Pending`: whether the registry has carried out what it was asked to. */
export async function lookAtPending(
  sessions: RegistrySessions,
  order: ChangeOrder,
  kind: OrderKind,
): Promise<ChangeOutcome> {
  const name = await askInfo(sessions, order.domain_name, purposeOf(order));
  const plan = await lookAndPlan(sessions, order, kind, name);
  const { shown } = order;
  if (isPending(order, kind)) {
    return { nextStepAt: later(sessions, sessions.profile.reconcileIntervalMs), shown };
  }
  if (plan.is === "held") return { event: "not-seen", reason: plan.reason, shown };
  if (plan.is !== "send" && plan.is !== "prepare") {
    return outcomeOf(kind, order, plan.is === "refused" ? { ...plan, as: "failed" } : plan);
  }
  // A registry may be late to show that a change is pending.
  const settledBefore = later(sessions, -sessions.profile.settleMs);
  const isNew = order.attempts.some(({ answered_at: at }) => at !== null && at > settledBefore);
  if (isNew) return { nextStepAt: later(sessions, sessions.profile.settleMs), shown };
  const reason = "the registry did not approve the change";
  if (order.renewal_id !== null) return { event: "not-seen", countsAsFailure: true, reason, shown };
  const ended = keptOpen(kind, order, { event: "failed", reason, shown });
  return isRefusal(ended) ? ended : { ...ended, event: "not-seen" };
}
