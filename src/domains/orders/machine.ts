/** What an order does in each of its states; states.ts says what follows. */
import { raiseAlarm } from "#alarms.ts";
import { check, claim, createKind, lookAtPending } from "#domains/kinds/create.ts";
import { applyCancelRequest, cancelHeld, cancelPending } from "#domains/orders/cancel-step.ts";
import type { ChangeContext, Machine } from "#domains/orders/change.ts";
import { type Order, type OrderOutcome, orderTable } from "#domains/orders/orders.ts";
import { sendKind, verifyKind } from "#domains/orders/send.ts";
import { settleOrder } from "#domains/orders/settle-step.ts";
import { isFinal, isSettleable, nextOrderState, orderState } from "#domains/orders/states.ts";
import { later, ofCommand, unansweredAttempts } from "#domains/registry/ask.ts";
import { pauseCreates, resumeCreatesPausedFor } from "#domains/registry/pause.ts";
import type { RegistrySessions } from "#domains/registry/sessions.ts";

export const orderMachine: Machine<Order, OrderOutcome> = {
  ...orderTable,
  step,
  adapt: applyCancelRequest,

  failing({ created_at: since, operator_note: note }, { event, whileCreatesStopped }) {
    // These have alarms of their own.
    return event === "out-of-credit" || whileCreatesStopped ? undefined : { since, note };
  },

  // A request to cancel changes what an outcome means.
  isStillValid: (before, now) => before.cancel_requested_at === null && now.cancel_requested_at !== null,

  async written(sessions, { pauseForCredit }, signal) {
    const { context, profile } = sessions;
    if (signal.includes("paused for credit")) await resumeCreatesPausedFor(context, profile.id, "credit");
    // Only now that the order is written as waiting: resuming wakes waiting orders only.
    if (!pauseForCredit) return;
    await pauseCreates(context, profile.id, "credit", pauseForCredit.reason);
    // A create that was done since shows that there is credit again, and it found no pause to end.
    if (sessions.createsDone > pauseForCredit.createsDone) await resumeCreatesPausedFor(context, profile.id, "credit");
  },

  reportLateAnswer,
};

/** Whether an order can be cancelled because no create of it can have reached the registry. */
export function isUnsent(order: Order): boolean {
  const isCancellable = nextOrderState(orderState(order), "cancel") !== undefined;
  return isCancellable && unansweredAttempts(ofCommand(order.attempts, "domain:create")).length === 0;
}

async function step(sessions: RegistrySessions, order: Order): Promise<OrderOutcome | undefined> {
  const state = orderState(order);
  if (order.cancel_requested_at !== null && isUnsent(order)) {
    return { event: "cancel", reason: "cancelled by the operator" };
  }
  if (order.settle_as !== null && isSettleable(state)) return settleOrder(sessions, order);
  switch (state) {
    case "NotProvisioned":
      return claim(sessions, order);
    case "Processing (waiting)":
      return { event: "resumed", isFree: true };
    case "Processing (check)":
      return check(sessions, order);
    case "Processing (create)":
      return sendKind(sessions, orderTable, order, createKind);
    case "Processing (verify: lost)":
    case "Processing (verify: exists)":
    case "Processing (verify: created)":
      return verifyKind(sessions, order, createKind);
    case "Processing (cancel)":
      return cancelHeld(sessions, order);
    case "Pending":
      return order.cancel_requested_at === null ? reconcile(sessions, order) : cancelPending(sessions, order);
    default:
      throw new Error(`an order in ${state} has no step`);
  }
}

async function reconcile(sessions: RegistrySessions, order: Order): Promise<OrderOutcome> {
  const outcome = await lookAtPending(sessions, order);
  return outcome ?? { nextStepAt: later(sessions, sessions.profile.reconcileIntervalMs) };
}

/**
 * Reports a create that was answered after its order had ended: its process stood still for so long that a successor looked for
 * the name and did not find it. No order explains what the registry holds then.
 */
async function reportLateAnswer(context: ChangeContext, order: Order, { event, attempt }: OrderOutcome): Promise<void> {
  if (event !== "created" && event !== "created-undated" && event !== "create-pending") return;
  if (!isFinal(order.status) || order.status === "Finished") return;
  const note = `${attempt?.clTrid} was answered with ${attempt?.resultCode} after the order's end as ${order.status}: the registry may hold ${order.domain_name} for us`;
  await raiseAlarm(context, { kind: "order", subject: order.order_code, note });
}
