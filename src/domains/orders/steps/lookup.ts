/**
 * What a lookup at the registry means for an order: the plan of its kind and the outcome of that plan, whether a command was carried
 * out, and whether an operator's settlement may stand. Nothing is believed before the settle time is over, and after a lost answer
 * nothing on the strength of one lookup.
 */
import type { OrderKind, Plan } from "#domains/orders/kind.ts";
import {
  countedAttempts,
  type Order,
  type Outcome,
  ofEarlierOwners,
  unansweredAttempts,
} from "#domains/orders/order.ts";
import { shownOf } from "#domains/portfolio/rows.ts";
import { askInfo, askOnce, later, type NameInfo } from "#domains/registry/ask.ts";
import { lateFrameMs, type RegistrySessions } from "#domains/registry/sessions.ts";
import { dayMs } from "#lib/clock.ts";
import type { SessionPurpose } from "#registry/epp/pool/pool.ts";

/** Orders of the schedule have weeks, and there may be thousands. */
export function purposesOf(
  { renewal_id, is_urgent }: Order,
  { purposes }: OrderKind,
): { command: SessionPurpose; lookup: SessionPurpose } {
  const usual = renewal_id !== null ? "renewal" : is_urgent ? "urgent-change" : "change";
  return purposes ?? { command: usual, lookup: usual };
}

export async function lookAndPlan(
  sessions: RegistrySessions,
  order: Order,
  kind: OrderKind,
  name: NameInfo,
  ask = askOnce(sessions, purposesOf(order, kind).lookup),
): Promise<Plan> {
  order.shown = name.is === "held-by-us" ? shownOf(name.info) : undefined;
  return kind.plan(sessions, order, name, ask);
}

/** What follows from a plan that sends nothing. */
export function outcomeOf(
  sessions: RegistrySessions,
  kind: OrderKind,
  order: Order,
  plan: Exclude<Plan, { is: "send" | "prepare" }>,
): Outcome {
  const { shown } = order;
  switch (plan.is) {
    case "done":
      return { event: "done", shown, end: plan.end, reason: plan.reason, after: plan.after };
    case "deleted":
      return { event: "deleted" };
    case "pending":
      return { event: "pending", nextStepAt: later(sessions, sessions.profile.reconcileIntervalMs), shown };
    case "refused": {
      const { as: event, reason, operatorNote } = plan;
      return refusalOf(kind, order, { event, reason, shown, operatorNote });
    }
    case "held":
      return { ...lookupFailed(order, plan.reason, plan.operatorNote), shown };
    case "wait":
      return {
        ...(plan.reason !== undefined && sayOnce(order, plan.reason)),
        nextStepAt: plan.until,
        holds: plan.holds,
      };
    case "unknown":
      return { ...lookupFailed(order, plan.reason, plan.operatorNote), nextStepAt: plan.nextStepAt };
  }
}

/** An order that waits for long asks often, and its history says once why. */
function sayOnce(order: Order, reason: string): Outcome {
  return order.reason === reason ? {} : { event: "look-lost", reason, confirmAfter: order.confirm_after ?? undefined };
}

/** Keeps the time of the second lookup: a failed one changes nothing about the first. */
export function lookupFailed({ confirm_after }: Order, reason: string, operatorNote?: string): Outcome {
  const confirmAfter = confirm_after ?? undefined;
  return { event: "look-lost", countsAsFailure: true, reason, confirmAfter, operatorNote };
}

const isRefused = ({ event }: Outcome) => event === "failed" || event === "rejected";

/**
 * What becomes of a refusal. What the schedule has ordered is not given up: an operator is alerted, and it is tried again.
 * @param command that the registry has refused
 */
export function refusalOf(kind: OrderKind, order: Order, outcome: Outcome, command?: string): Outcome {
  if (!isRefused(outcome)) return outcome;
  const refused = kind.refused?.(order, outcome, command) ?? outcome;
  if (!isRefused(refused) || order.renewal_id === null || !order.is_in_portfolio) return refused;
  const { attempt, reason, operatorNote = reason } = refused;
  return { ...refused, event: attempt ? "not-executed" : "look-lost", operatorNote, countsAsFailure: true };
}

/** If the registry has not shown for this long what it reported as done, an operator must ask it. */
const contradictionMs = dayMs;

const lookUp = async (sessions: RegistrySessions, order: Order, kind: OrderKind): Promise<Plan> => {
  const name = await askInfo(sessions, order.domain_name, purposesOf(order, kind).lookup);
  return lookAndPlan(sessions, order, kind, name);
};

const isPending = ({ shown }: Order, { pendingStatus }: OrderKind) =>
  pendingStatus !== undefined && shown?.statuses.includes(pendingStatus) === true;

/** The step of `Processing (verify: answered)`: the registry reported success, which `<info>` must confirm. */
export async function verifyAnswered(sessions: RegistrySessions, order: Order, kind: OrderKind): Promise<Outcome> {
  const plan = await lookUp(sessions, order, kind);
  const { shown } = order;
  // An order that waits for an operator does not hold up the others about the name.
  if (plan.is === "held") return { event: "next", shown };
  if (plan.is === "refused") return outcomeOf(sessions, kind, order, { ...plan, as: "failed" });
  if (plan.is !== "send" && plan.is !== "prepare") return outcomeOf(sessions, kind, order, plan);
  const sent = order.attempts.at(-1);
  if (plan.is === "prepare" || plan.isNext || plan.command.name !== sent?.command) return { event: "next" };
  const isLong = sent.committed_at < later(sessions, -contradictionMs);
  const operatorNote = "the registry reported the change as done, but does not show it";
  return { event: "not-seen", countsAsFailure: true, ...(isLong && { operatorNote }) };
}

/** The step of `Processing (verify: lost)`: the command may have been executed, or still be on its way. */
export async function verifyLost(sessions: RegistrySessions, order: Order, kind: OrderKind): Promise<Outcome> {
  const plan = await lookUp(sessions, order, kind);
  switch (plan.is) {
    case "done":
    case "deleted": {
      if (order.confirm_after !== null) return outcomeOf(sessions, kind, order, plan);
      // RFC 5734 §3: a server that loses the connection may still undo what it did. A second lookup decides.
      const confirmAfter = later(sessions, sessions.profile.settleMs);
      return { event: "seen-once", confirmAfter, nextStepAt: confirmAfter };
    }
    case "refused":
      return outcomeOf(sessions, kind, order, { ...plan, as: "failed" });
    case "held":
      return whenNotExecuted(sessions, order, kind, async () => ({ event: "not-seen", shown: order.shown }));
    case "send":
    case "prepare":
      if (isPending(order, kind)) return outcomeOf(sessions, kind, order, { is: "pending" });
      return whenNotExecuted(sessions, order, kind, async () => {
        if (plan.is === "prepare") await plan.giveUp();
        return (await kind.notExecuted?.(sessions, order)) ?? { event: "not-seen", countsAsFailure: true };
      });
    default:
      return outcomeOf(sessions, kind, order, plan);
  }
}

/** A command that is not executed may still be on its way, if an earlier owner has sent it. */
async function whenNotExecuted(
  sessions: RegistrySessions,
  order: Order,
  kind: OrderKind,
  outcome: () => Promise<Outcome>,
): Promise<Outcome> {
  const { context, profile } = sessions;
  const attempts = countedAttempts(order, kind);
  const lateMs = lateFrameMs(context.lease, profile.takeoverSettleMs);
  if (lateMs > 0 && ofEarlierOwners(unansweredAttempts(attempts), context).length > 0) {
    const reason = "the worker before this one may have sent a command that is still on its way";
    return { ...lookupFailed(order, reason), countsAsFailure: false, nextStepAt: later(sessions, lateMs) };
  }
  return { reason: whyNotExecuted(attempts.at(-1)), ...(await outcome()) };
}

/** Says what became of the last command, so that nobody reads the reason of a lookup that failed meanwhile. */
function whyNotExecuted(sent: Order["attempts"][number] | undefined): string | undefined {
  if (!sent) return undefined;
  const answer = sent.result_code === null ? "was not answered" : `was answered ${sent.result_code}`;
  return `${sent.command} ${answer}, and the registry shows that it was not executed`;
}

/** The step of `Pending`: whether the registry has carried out what it was asked to. */
export async function lookAtPending(sessions: RegistrySessions, order: Order, kind: OrderKind): Promise<Outcome> {
  const plan = await lookUp(sessions, order, kind);
  const { shown } = order;
  const nextStepAt = later(sessions, sessions.profile.reconcileIntervalMs);
  if (plan.is === "pending" || isPending(order, kind)) return { nextStepAt, shown };
  if (plan.is === "held") return { event: "not-seen", reason: plan.reason, shown };
  if (plan.is === "refused") return outcomeOf(sessions, kind, order, { ...plan, as: "failed" });
  if (plan.is !== "send" && plan.is !== "prepare") return outcomeOf(sessions, kind, order, plan);
  // The command is a delete, as the operator wants: the registry may allow it, or refuse it with 2304 (RFC 5731 §2.3).
  if (order.cancel_requested_at !== null) return { event: "not-seen", reason: "the operator wants it cancelled" };
  // A registry may be late to show that a change is pending.
  const settledBefore = later(sessions, -sessions.profile.settleMs);
  const isNew = order.attempts.some(({ answered_at: at }) => at !== null && at > settledBefore);
  if (isNew) return { nextStepAt: later(sessions, sessions.profile.settleMs), shown };
  const reason = "the registry did not approve the change";
  if (order.renewal_id !== null) return { event: "not-seen", countsAsFailure: true, reason, shown };
  const ended = refusalOf(kind, order, { event: "failed", reason, shown });
  return isRefused(ended) ? ended : { ...ended, event: "not-seen" };
}

/** The step of an order that an operator settles: a decision that the registry must not contradict. If the registry contradicts the operator, the settlement is refused, and the order continues. */
export async function settle(sessions: RegistrySessions, order: Order, kind: OrderKind): Promise<Outcome> {
  const name = await askInfo(sessions, order.domain_name, purposesOf(order, kind).lookup);
  const settled = await (kind.settled?.(sessions, order, name) ?? settleChange(sessions, order, kind, name));
  if (!("refusal" in settled)) return settled;
  order.settle_as = null;
  order.settle_note = null;
  const { status, phase } = order;
  order.unwritten.push({ event: "settle-refused", status, phase, note: settled.refusal });
  return { nextStepAt: later(sessions, sessions.profile.backoffMaxMs) };
}

export const settledReason = ({ settle_note }: Order) => settle_note ?? "settled by the operator";

/** It is done only if we hold the name, and failed only if the registry does not show what was ordered. */
async function settleChange(
  sessions: RegistrySessions,
  order: Order,
  kind: OrderKind,
  name: NameInfo,
): Promise<Outcome | { refusal: string }> {
  const plan = await lookAndPlan(sessions, order, kind, name);
  const { shown } = order;
  const reason = settledReason(order);
  if (plan.is === "done") return { event: "done", shown, end: plan.end };
  if (plan.is === "unknown" && plan.operatorNote === undefined) {
    return { refusal: `the registry could not be asked: ${plan.reason}` };
  }
  if (order.settle_as !== "done") {
    const ended = kind.refused?.(order, { event: "failed", reason });
    if (!ended || isRefused(ended)) return { event: "settled-failed", reason, shown };
    return { refusal: "the order first puts back what it took away, and then fails for your reason" };
  }
  if (!shown) return { refusal: "we do not hold the name" };
  if (kind.isUrgent && !kind.settledEnd) return { refusal: "the registry does not show it" };
  return { event: "settled-done", reason, shown, end: kind.settledEnd?.(order) };
}
