/**
 * The loop that advances an order. In each state at most one command that changes the name goes to the registry; its outcome is an
 * event, and the table of states says what follows.
 *
 * Everything here serves one rule: a command's bytes are written only after its attempt row is committed, and while an attempt
 * is unanswered only queries are sent. So after any crash the next step knows what may have been executed, and asks the
 * registry instead of guessing.
 */

import { raiseAlarm } from "#alarms.ts";
import type { OrderKind, OrderKinds } from "#domains/orders/kind.ts";
import {
  applyEvent,
  countedAttempts,
  type FoundDecision,
  findOrder,
  mayBeCancelled,
  type Order,
  OrderConflict,
  type Outcome,
  unansweredAttempts,
  type WriteContext,
} from "#domains/orders/order.ts";
import { lostAnswer } from "#domains/orders/send.ts";
import { isFinal, orderState } from "#domains/orders/states.ts";
import { lookAtPending, settle, verifyAnswered, verifyLost } from "#domains/orders/steps/lookup.ts";
import { sendNext } from "#domains/orders/steps/next-command.ts";
import { isHeld, onName, yieldToNewer } from "#domains/orders/turns.ts";
import { write } from "#domains/orders/write.ts";
import { later } from "#domains/registry/ask.ts";
import { holdMaintenance } from "#domains/registry/pause.ts";
import { attentionRetryMs, LeaseLost, operatorRetryMs, type RegistrySessions } from "#domains/registry/sessions.ts";
import { backoffMs } from "#lib/backoff.ts";
import { dayMs } from "#lib/clock.ts";
import { isSuccess } from "#registry/epp/codes.ts";

/** How long every attempt may fail before an operator is alerted. */
const failingMsMax = dayMs;

/**
 * Advances an order as far as possible now. It may be repeated, killed anywhere, and resumed by another process. The registry's
 * session holder runs at most one per order at a time.
 * @throws LeaseLost when this process no longer owns the registry
 */
export async function advance(sessions: RegistrySessions, kinds: OrderKinds, id: number): Promise<void> {
  const { context } = sessions;
  for (;;) {
    const order = await findOrder(context, id);
    if (!order || isFinal(order.status)) return;
    if (!context.lease.isHeld()) throw new LeaseLost(context.lease);
    const kind = kinds[order.kind];
    try {
      if (await mustWait(sessions, order)) return;
      const work = () => stepOnce(sessions, order, kind);
      // A step that waits for another one must not write so after the other has ended: nothing would wake it.
      const written = await (kind.needsNoTurn ? work() : onName(sessions, order.domain_name, work));
      if (written.next_step_at !== null && written.next_step_at > context.clock.now()) return;
    } catch (error) {
      // The order has changed since it was read: read it again.
      if (!(error instanceof OrderConflict)) throw error;
    }
  }
}

/** @returns the order as it was written */
async function stepOnce(sessions: RegistrySessions, read: Order, kind: OrderKind): Promise<Order> {
  const wasAway = isAway(sessions);
  let order = read;
  let outcome = await step(sessions, order, kind);
  while (outcome.isFree) {
    order = applyEvent(order, outcome, sessions.context.clock.now());
    outcome = await step(sessions, order, kind);
  }
  return record(sessions, order, withDelay(sessions, order, withAlarm(sessions, order, outcome, wasAway)));
}

/** How often an order asks whether its turn has come, should it miss the end of the one before it. */
const turnMs = 30_000;

/** What an order does in its state; states.ts says what follows. Sends at most one command that changes the name. */
async function step(sessions: RegistrySessions, order: Order, kind: OrderKind): Promise<Outcome> {
  const state = orderState(order);
  if (order.cancel_requested_at !== null && mayBeCancelled(order)) {
    return { event: "cancel", reason: "cancelled by the operator" };
  }
  const newer = state === "NotProvisioned" ? undefined : await yieldToNewer(sessions, order, kind);
  // The process that sent it is gone: it may have been executed.
  const isInDoubt = unansweredAttempts(countedAttempts(order, kind)).length > 0;
  if (state === "Processing (send)" && isInDoubt) return lostAnswer(sessions);
  if (order.settle_as !== null) return settle(sessions, order, kind);
  switch (state) {
    case "NotProvisioned": {
      if (await mustYield(sessions, order, kind)) return { nextStepAt: later(sessions, turnMs) };
      return (await kind.start?.(sessions, order)) ?? { event: "started", isFree: true };
    }
    case "Processing (send)":
      if (newer !== undefined) return { event: "superseded", reason: `superseded by ${newer}` };
      if (await mustYield(sessions, order, kind)) return { nextStepAt: later(sessions, turnMs) };
      return sendNext(sessions, order, kind);
    case "Processing (verify: answered)":
      return verifyAnswered(sessions, order, kind);
    case "Processing (verify: lost)":
      return verifyLost(sessions, order, kind);
    case "Pending":
      return lookAtPending(sessions, order, kind);
    default:
      throw new Error(`an order in ${state} has no step`);
  }
}

/** Whether another order about the name goes first. */
const mustYield = async (sessions: RegistrySessions, order: Order, { needsNoTurn }: OrderKind) =>
  !needsNoTurn && (await isHeld(sessions, order));

/** Whether the order is not due yet, or the registry is in maintenance, which does not count as a failure. */
async function mustWait({ context }: RegistrySessions, order: Order): Promise<boolean> {
  if (order.next_step_at !== null && order.next_step_at > context.clock.now()) return true;
  const { maintenance_until: nextStepAt } = order;
  if (nextStepAt === null) return false;
  await write(context, order, { nextStepAt, holds: (tx) => holdMaintenance(tx, order.registry_id, nextStepAt) });
  return true;
}

const isAway = ({ pool }: RegistrySessions) => pool.circuit().state !== "closed";

/**
 * Alerts an operator once retries have not helped for a day. Nothing ends because of that: the next attempt may succeed, and resolves
 * the alarm. While the registry is away, the alarm about the registry says enough. The schedule's orders have weeks, and alarms of
 * their own.
 * @param wasAway whether it was when the step began: it may be back by now, and the step's reason still be that it was away
 */
function withAlarm(sessions: RegistrySessions, order: Order, outcome: Outcome, wasAway: boolean): Outcome {
  const { event, operatorNote, countsAsFailure, reason } = outcome;
  if (order.renewal_id !== null || event === undefined || operatorNote !== undefined) return outcome;
  const { waiting_since: since, operator_note: note } = order;
  const isLong = since !== null && since <= later(sessions, -failingMsMax);
  // Whether a name is registered must not stay unknown, whatever the reason.
  const isExcused = (wasAway || isAway(sessions)) && !(order.kind === "create" && order.phase === "verify");
  if (!countsAsFailure || !isLong || isExcused) {
    // What was wrong still is, as far as anybody knows.
    const isStillWrong = countsAsFailure || event === "unanswered";
    return note !== null && isStillWrong ? { ...outcome, operatorNote: note } : outcome;
  }
  const last = reason ?? order.reason ?? event;
  const advice = "ask the registry, then settle or cancel the order";
  return { ...outcome, operatorNote: `all attempts have failed for 24 hours; last error: ${last}; ${advice}` };
}

function withDelay(sessions: RegistrySessions, order: Order, outcome: Outcome): Outcome {
  const { event, nextStepAt, countsAsFailure, operatorNote } = outcome;
  if (event === undefined || nextStepAt) return outcome;
  if (order.renewal_id !== null && operatorNote) return { ...outcome, nextStepAt: later(sessions, attentionRetryMs) };
  if (!countsAsFailure) return outcome;
  const { context, profile } = sessions;
  const limits = { firstMs: profile.backoffFirstMs, maxMs: profile.backoffMaxMs };
  const delayMs = operatorNote ? operatorRetryMs : backoffMs(order.backoff_count + 1, limits, context.random);
  return { ...outcome, nextStepAt: later(sessions, delayMs) };
}

/**
 * Writes a step's outcome. An operator's request that was written while the step ran changes what the outcome means, but does
 * not discard it: the registry's answer comes only once.
 */
async function record(sessions: RegistrySessions, order: Order, outcome: Outcome): Promise<Order> {
  const { context } = sessions;
  try {
    const written = await write(context, order, asWanted(order, outcome));
    await outcome.after?.();
    return written;
  } catch (error) {
    if (!(error instanceof OrderConflict)) throw error;
    const now = await findOrder(context, order.id);
    if (!now || orderState(now) !== orderState(order)) {
      if (now) await reportLateAnswer(context, now, outcome);
      throw error;
    }
    const isToBeCancelled = order.cancel_requested_at === null && now.cancel_requested_at !== null;
    // A query can be repeated; the answer to a command cannot.
    if (outcome.attempt === undefined && !isToBeCancelled) throw error;
    // What the step has found is written with its outcome; only a message adds something meanwhile.
    const { decision } = now.found as FoundDecision;
    now.found = { ...(order.found as object), decision } satisfies FoundDecision;
    const isCalled = now.next_step_at?.getTime() !== order.next_step_at?.getTime();
    const nextStepAt = isCalled ? calledStepAt(context.clock.now(), now, outcome) : outcome.nextStepAt;
    return record(sessions, now, { ...outcome, nextStepAt });
  }
}

/** A registration that an operator wants to cancel does not end as registered before it is decided whether the name is kept. */
function asWanted({ cancel_requested_at }: Order, outcome: Outcome): Outcome {
  if (cancel_requested_at === null) return outcome;
  const { event, attempt, end } = outcome;
  if (event === "done" && !end?.isKept) return { event: "unwanted", attempt };
  return event === "pending" ? { ...outcome, nextStepAt: undefined } : outcome;
}

/** When the next step is due, if a request for it was written while a step ran. */
function calledStepAt(now: Date, { next_step_at: calledAt }: Order, { event, nextStepAt }: Outcome): Date | undefined {
  // A command that may still be executed keeps its settle time.
  if (event === "unanswered" || !nextStepAt) return nextStepAt;
  if (calledAt === null || calledAt <= now) return undefined;
  return calledAt < nextStepAt ? calledAt : nextStepAt;
}

/**
 * Reports a create that was answered after its order had ended: its process stood still for so long that a successor asked for
 * the name and did not find it. No order explains what the registry holds then.
 */
async function reportLateAnswer(context: WriteContext, order: Order, { attempt }: Outcome): Promise<void> {
  if (order.kind !== "create" || !isFinal(order.status) || order.status === "Finished") return;
  if (attempt?.resultCode == null || !isSuccess(attempt.resultCode)) return;
  const note = `${attempt.clTrid} was answered with ${attempt.resultCode} after the order's end as ${order.status}: the registry may hold ${order.domain_name} for us`;
  await raiseAlarm(context, { kind: "order", subject: order.order_code, note });
}
