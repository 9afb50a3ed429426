/** What a lookup at the registry means for an order: the plan of its kind, and the outcome of that plan. */
import type { OrderKind, Plan } from "#domains/orders/kind.ts";
import type { Order, Outcome } from "#domains/orders/order.ts";
import { shownOf } from "#domains/portfolio/shown.ts";
import { askOnce, later, type NameInfo } from "#domains/registry/ask.ts";
import type { RegistrySessions } from "#domains/registry/sessions.ts";
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
      return { event: "done", shown, end: plan.end, reason: plan.reason };
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

export const isRefused = ({ event }: Outcome) => event === "failed" || event === "rejected";

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
