/**
 * What an order does in each state: one EPP command at most, then something happened to it (states.ts says what follows).
 *
 * The rule that everything here serves: a create's bytes are written only after its attempt row is committed, and while
 * an attempt is unanswered nothing is sent but questions. So whatever crashes, the next step knows what may have
 * happened, and asks the registry instead of guessing.
 */
import { raiseAlarm } from "#alarms.ts";
import type { Context } from "#context.ts";
import { readCreateAttempts } from "#domains/orders/attempts.ts";
import { cancelUnsent } from "#domains/orders/cancel.ts";
import { cancelHeld, cancelPending, heedCancel } from "#domains/orders/cancel-step.ts";
import { createDomain } from "#domains/orders/create-step.ts";
import {
  findOrder,
  happen,
  type Order,
  OrderChanged,
  type OrderHappening,
  postponeUntil,
} from "#domains/orders/orders.ts";
import { reconcilePending } from "#domains/orders/pending-step.ts";
import { settleOrder } from "#domains/orders/settle-step.ts";
import { isFinal, isSettleable, orderState } from "#domains/orders/states.ts";
import { goStraight } from "#domains/orders/straight.ts";
import { verifyCreate } from "#domains/orders/verify-step.ts";
import { availabilityOf } from "#domains/registry/availability.ts";
import { longestWaitMs, waitsUntil } from "#domains/registry/due-time.ts";
import { awaitMaintenance } from "#domains/registry/maintenance.ts";
import { LeaseLost } from "#domains/registry/owner-lease.ts";
import { holdCreatesStopped, pauseCreates, resumeCreatesPausedFor } from "#domains/registry/pause.ts";
import { operatorRetryMs, type RegistrySessions, sessionWaitMs } from "#domains/registry/sessions.ts";
import { backoffMs } from "#lib/backoff.ts";
import { EppUnavailable } from "#registry/epp/errors.ts";

/**
 * Takes an order as far as it goes now. Safe to repeat, to be killed anywhere, and to be resumed by another process.
 * Never more than one at a time per order: the registry's owner sees to that.
 * @param resellerId whose order it is, if the caller knows
 * @throws LeaseLost when this process does not own the registry any more
 */
export async function advanceOrder(sessions: RegistrySessions, orderId: number, resellerId?: number): Promise<void> {
  const { context } = sessions;
  const straight = await goStraight(sessions, orderId, resellerId);
  if (straight === "finished") return;
  let answered = straight === "not-straight" ? undefined : straight;
  for (;;) {
    const order = await findOrder(context, orderId);
    if (!order) return;
    if (answered && orderState(order) !== "Processing (create)") {
      await tellTooLate(context, order, answered);
      answered = undefined;
    }
    if (isFinal(order.status)) return;
    if (!answered && !context.lease.isHeld()) throw new LeaseLost(context.lease);
    try {
      if (!answered && (await isPostponed(sessions, order))) return;
      const happening = answered ? withRetry(sessions, order, answered) : await step(sessions, order);
      answered = undefined;
      if (!happening || (await record(sessions, order, happening)).nextStepAt) return;
    } catch (error) {
      // Cancelled, or wished for, meanwhile: what it is now decides.
      if (error instanceof OrderChanged) continue;
      throw error;
    }
  }
}

/** Whether it is too early for the order's next step; then there is a job for it. */
async function isPostponed({ context, profile }: RegistrySessions, order: Order): Promise<boolean> {
  const { next_step_at: nextStepAt, maintenance_until: maintenanceUntil } = order;
  const isUnanswered = /verify|cancel/.test(orderState(order));
  const limits = { profile, longestMs: longestWaitMs(profile), isUnanswered };
  const until = waitsUntil(nextStepAt, context.clock.now(), limits);
  if (until) {
    await context.database.transaction((tx) => postponeUntil(context, tx, order, until));
    return true;
  }
  if (maintenanceUntil === null) return false;
  // Nothing is asked of the registry, and nothing counts as a failure.
  await awaitMaintenance(context, order, maintenanceUntil);
  return true;
}

/**
 * Writes down what a step found out. What came while the step ran, an operator's wish or a call for the next step, changes
 * what that means, but does not undo it: the registry's answer comes only once.
 */
async function record(sessions: RegistrySessions, order: Order, happening: OrderHappening): Promise<OrderHappening> {
  const { context } = sessions;
  const heeded = heedCancel(sessions, order, happening);
  try {
    await context.database.transaction(async (tx) => {
      const { whileCreatesStopped: isStopped = false } = heeded;
      if (isStopped && !(await holdCreatesStopped(tx, order.registry_id))) throw new OrderChanged();
      await happen(context, tx, order, heeded);
    });
    // Not before: what is resumed wakes only the orders that are written down as waiting.
    if (happening.pauseForCredit) await pauseForCredit(sessions, happening.pauseForCredit);
    return heeded;
  } catch (error) {
    if (!(error instanceof OrderChanged)) throw error;
    const now = await findOrder(context, order.id);
    if (!now || orderState(now) !== orderState(order)) {
      if (now) await tellTooLate(context, now, happening);
      throw error;
    }
    const isCancelNew = order.cancel_requested_at === null && now.cancel_requested_at !== null;
    const isSettleNew = now.settle_as !== order.settle_as;
    const isCalled = now.next_step_at?.getTime() !== order.next_step_at?.getTime();
    // A question can be asked again; what a command was answered cannot.
    const stands = happening.attempt !== undefined && (isSettleNew || isCalled);
    if (!isCancelNew && !stands) throw error;
    const nextStepAt = isCalled ? calledFor(context, now, happening) : happening.nextStepAt;
    return record(sessions, now, { ...happening, nextStepAt });
  }
}

/** A create that was done since shows that there is credit again; and it saw no pause that it could have ended. */
async function pauseForCredit(
  sessions: RegistrySessions,
  { reason, createsDone }: { reason: string; createsDone: number },
) {
  const { context, profile } = sessions;
  await pauseCreates(context, profile.id, "credit", reason);
  if (sessions.createsDone > createsDone) await resumeCreatesPausedFor(context, profile.id, "credit");
}

/** When the next step of an order comes that was called while it was at work. */
function calledFor({ clock }: Context, { next_step_at: calledAt }: Order, { event, nextStepAt }: OrderHappening) {
  // What may still be executed has its time.
  if (event === "unanswered" || !nextStepAt) return nextStepAt;
  if (calledAt === null || calledAt <= clock.now()) return undefined;
  return calledAt < nextStepAt ? calledAt : nextStepAt;
}

/**
 * What a create was answered when its order was over: its process stood still for so long that a successor had asked for
 * the name and found nothing. No order explains what the registry holds then.
 */
async function tellTooLate(context: Context, order: Order, { event, attempt }: OrderHappening) {
  if (event !== "created" && event !== "create-pending") return;
  if (!isFinal(order.status) || order.status === "Finished") return;
  const note = `${attempt?.clTrid} was answered with ${attempt?.resultCode} after the order's end as ${order.status}: the registry may hold ${order.domain_name} for us`;
  await raiseAlarm(context, { kind: "order", subject: order.order_code, note });
}

async function step(sessions: RegistrySessions, order: Order): Promise<OrderHappening | undefined> {
  const happening = await stepOf(sessions, order);
  return happening && withRetry(sessions, order, happening);
}

function withRetry(sessions: RegistrySessions, order: Order, happening: OrderHappening): OrderHappening {
  if (happening.nextStepAt || !happening.countsAsFailure) return happening;
  return { ...happening, nextStepAt: retryAt(sessions, order, happening) };
}

async function stepOf(sessions: RegistrySessions, order: Order): Promise<OrderHappening | undefined> {
  const state = orderState(order);
  if (order.cancel_requested_at !== null) {
    const { context } = sessions;
    if (await context.database.transaction((tx) => cancelUnsent(context, tx, order))) return undefined;
  }
  if (order.settle_as !== null && isSettleable(state)) return settleOrder(sessions, order);
  switch (state) {
    case "NotProvisioned":
      return claim(sessions);
    case "Processing (waiting)":
      return { event: "resumed" };
    case "Processing (check)":
      return check(sessions, order);
    case "Processing (create)":
      return createDomain(sessions, order);
    case "Processing (verify: lost)":
    case "Processing (verify: exists)":
      return verifyCreate(sessions, order);
    case "Processing (cancel)":
      return cancelHeld(sessions, order);
    case "Pending":
      return order.cancel_requested_at === null ? reconcilePending(sessions, order) : cancelPending(sessions, order);
    default:
      throw new Error(`an order in ${state} has no step`);
  }
}

function retryAt(sessions: RegistrySessions, order: Order, happening: OrderHappening): Date {
  const { context, profile } = sessions;
  const limits = { firstMs: profile.backoffFirstMs, maxMs: profile.backoffMaxMs };
  const delayMs = happening.operatorNote ? operatorRetryMs : backoffMs(order.backoff_count + 1, limits, context.random);
  return new Date(context.clock.now().getTime() + delayMs);
}

/** Rows 2 and 3: an order counts as started once there is a session to work with. */
async function claim({ pool }: RegistrySessions): Promise<OrderHappening> {
  try {
    (await pool.acquire("check", { waitMs: sessionWaitMs })).release();
    return { event: "claimed" };
  } catch (error) {
    if (!(error instanceof EppUnavailable)) throw error;
    return { event: "unreachable", countsAsFailure: true };
  }
}

/** Rows 4 to 6. */
async function check(sessions: RegistrySessions, order: Order): Promise<OrderHappening> {
  const { context, pool, profile } = sessions;
  const { total: createsSent } = await readCreateAttempts(context.database, order.id);
  try {
    const answer = await pool.checkDomain(order.domain_name, { budgetMs: profile.queryTimeoutMs });
    const availability = availabilityOf(answer);
    if (availability === "available") return { event: "available" };
    const reason = answer.reason ?? "the registry says that the name is not available";
    // A create of ours may have been executed after all: a check does not say whose the name is.
    if (createsSent > 0) return { event: "exists", reason };
    return { event: availability === "taken" ? "taken" : "refused", reason };
  } catch (error) {
    if (error instanceof EppUnavailable) return { event: "unreachable", countsAsFailure: true };
    return {
      event: "check-lost",
      countsAsFailure: true,
      reason: error instanceof Error ? error.message : String(error),
    };
  }
}
