/**
 * Rows 23 and 24: an order that the operator wants cancelled, although its create was sent. First it is known what
 * became of the create; a name that is held for us is deleted while that costs nothing (the add grace period, RFC 3915
 * §3.1), and kept otherwise. A delete is sent as a create is: its attempt is committed before its bytes, and after a
 * lost answer only `<info>` decides. The name never is in the portfolio meanwhile.
 */
import { statement } from "#db/statement.ts";
import { beginAttempt } from "#domains/orders/attempts.ts";
import { askInfo, type NameInfo, notYetRepeatable, registeredOf, stillUnknown } from "#domains/orders/name-info.ts";
import { type Order, type OrderHappening, postpone, type Registered } from "#domains/orders/orders.ts";
import { eventOfDelete } from "#domains/orders/result-codes.ts";
import type { OrderEvent } from "#domains/orders/states.ts";
import { lateFrameMs } from "#domains/registry/owner-lease.ts";
import {
  type Answered,
  answeredAttempt,
  answerInWords,
  lostAnswer,
  sendOnce,
  unansweredOrder,
} from "#domains/registry/send-once.ts";
import type { RegistrySessions } from "#domains/registry/sessions.ts";
import { domainDelete } from "#registry/epp/commands/domain/delete.ts";

const dayMs = 24 * 60 * 60_000;
/** Deletes that one order may send; after that an operator decides. */
const deleteAttemptsMax = 5;

const deleteAttempts = statement(
  "attempts-of-delete",
  `SELECT committed_at, answered_at, result_code, epoch FROM order_attempts
   WHERE order_id = $1 AND command = 'domain:delete'`,
  { committed_at: "timestamptz", answered_at: "timestamptz?", result_code: "int4?", epoch: "int8?" },
);

const heldEvents = new Set<OrderEvent>(["created", "ours", "approved"]);
const pendingEvents = new Set<OrderEvent>(["create-pending", "ours-pending"]);

/** What happens to an order that the operator wants cancelled, instead of what would have happened to it. */
export function heedCancel(
  { context, profile }: RegistrySessions,
  order: Order,
  happening: OrderHappening,
): OrderHappening {
  if (order.cancel_requested_at === null) return happening;
  // Its delete is tried at once.
  if (pendingEvents.has(happening.event)) return { ...happening, nextStepAt: undefined };
  const { registered, ...rest } = happening;
  if (!registered || !heldEvents.has(happening.event)) return happening;
  const graceEndsAt = registered.registeredAt.getTime() + profile.graceDays.add * dayMs;
  if (context.clock.now().getTime() < graceEndsAt) return { ...rest, event: "held-unwanted" };
  return { ...happening, reason: "the cancellation came after the add grace period" };
}

/** The step of `Processing (cancel)`: a name that is held, and not wanted. */
export async function cancelHeld(sessions: RegistrySessions, order: Order): Promise<OrderHappening> {
  const { context } = sessions;
  const deletes = await readDeletes(sessions, order);
  // The process that sent it is gone: it may still be executed.
  if (deletes.isUnsettled) return lostAnswer(sessions);
  const name = await askInfo(sessions, order);
  if (name.is === "unknown") return stillUnknown(context, order, name.reason);
  if (name.is !== "held-by-us") return gone(sessions, order, name, deletes.isUnanswered);
  if (name.info.statuses.includes("pendingDelete")) return deletePending(sessions);
  if (deletes.isUnanswered) return stillHeld(sessions, order, deletes.lateMs);
  const registered = registeredOf(name.info);
  if (!registered) return stillUnknown(context, order, "info brought no dates");
  const heeded = heedCancel(sessions, order, { event: "ours", registered });
  if (heeded.event !== "held-unwanted") return { ...heeded, event: "kept" };
  return sendDelete(sessions, order, deletes.total, registered);
}

/** The same while the create is still pending: the registry may let it be deleted, or says 2304 (RFC 5731 §2.3). */
export async function cancelPending(sessions: RegistrySessions, order: Order): Promise<OrderHappening | undefined> {
  const { context, profile } = sessions;
  const deletes = await readDeletes(sessions, order);
  if (deletes.isUnsettled) return lostAnswer(sessions);
  const name = await askInfo(sessions, order);
  if (name.is === "unknown") return stillUnknown(context, order, name.reason);
  if (name.is !== "held-by-us") {
    if (deletes.mayBeExecuted) return gone(sessions, order, name, deletes.isUnanswered);
    if (name.is === "held-by-other") return { event: name.is, reason: "the name is held by another registrar" };
    return { event: "absent", reason: "the registry did not approve the registration" };
  }
  const registered = registeredOf(name.info);
  if (!name.info.statuses.includes("pendingCreate") && registered) return { event: "ours", registered };
  if (deletes.isUnanswered) return stillHeld(sessions, order, deletes.lateMs);
  if (!deletes.isDecided) return sendDelete(sessions, order, deletes.total, undefined);
  // The registry has answered; what it decides about the create decides.
  await context.database.transaction((tx) => postpone(context, tx, order, profile.reconcileIntervalMs));
  return undefined;
}

async function readDeletes({ context, profile }: RegistrySessions, order: Order) {
  const attempts = await context.database.query(deleteAttempts, [order.id]);
  const answers = attempts.flatMap(({ result_code }) => (result_code === null ? [] : [eventOfDelete(result_code)]));
  const unanswered = attempts.filter(({ answered_at }) => answered_at === null);
  const isUnanswered = unanswered.length > 0;
  const settledBefore = context.clock.now().getTime() - profile.settleMs;
  return {
    total: attempts.length,
    isUnanswered,
    /** How long one of an owner before this one may still arrive. */
    lateMs: unanswered.some(({ epoch }) => epoch !== context.lease.epoch)
      ? lateFrameMs(context.lease, profile.takeoverSettleMs)
      : 0,
    /** The settle time of one is not over. */
    isUnsettled: unanswered.some(({ committed_at }) => committed_at.getTime() > settledBefore),
    /** The registry has answered what it makes of it. */
    isDecided: answers.some((event) => event !== "not-executed" && event !== "unanswered"),
    mayBeExecuted: isUnanswered || answers.includes("deleted") || answers.includes("delete-pending"),
  };
}

/** The delete was not executed, so it is sent again: not while it may still arrive. */
function stillHeld({ context }: RegistrySessions, order: Order, lateMs: number): OrderHappening {
  return lateMs > 0 ? notYetRepeatable(context, order, lateMs) : { event: "still-held" };
}

/** A server that loses the connection may still undo what it did (RFC 5734 §3): after that a second look decides. */
function gone(
  { context, profile }: RegistrySessions,
  order: Order,
  name: NameInfo,
  isUnanswered: boolean,
): OrderHappening {
  if (name.is === "held-by-other" || !isUnanswered || order.confirm_after !== null) return { event: "deleted" };
  const confirmAfter = new Date(context.clock.now().getTime() + profile.settleMs);
  return { event: "gone-once", confirmAfter, nextStepAt: confirmAfter };
}

function deletePending({ context, profile }: RegistrySessions): OrderHappening {
  return { event: "delete-pending", nextStepAt: new Date(context.clock.now().getTime() + profile.reconcileIntervalMs) };
}

/** @param registered what the order finishes with when the registry refuses; without it the order stays pending */
async function sendDelete(
  sessions: RegistrySessions,
  order: Order,
  deletesSent: number,
  registered: Registered | undefined,
): Promise<OrderHappening> {
  const { context } = sessions;
  if (deletesSent >= deleteAttemptsMax) {
    const operatorNote = `${deletesSent} deletes were sent, and the name is still held`;
    return { ...stillUnknown(context, order), operatorNote };
  }
  const command = domainDelete(order.domain_name);
  const sent = await sendOnce(sessions, command, () => beginAttempt(context, order, command.name));
  if (sent.is === "answered") return readAnswer(sessions, sent, registered);
  if (sent.is === "invalid") throw new Error(`the delete could not be sent: ${sent.reason}`);
  return unansweredOrder(sessions, sent);
}

function readAnswer(
  sessions: RegistrySessions,
  { clTrid, response }: Answered<undefined>,
  registered: Registered | undefined,
): OrderHappening {
  const event = eventOfDelete(response.code);
  const attempt = answeredAttempt(clTrid, response, event !== "unanswered");
  const reason = `delete: ${answerInWords(response)}`;
  switch (event) {
    case "unanswered":
      return lostAnswer(sessions, attempt);
    case "not-executed":
      return { event, attempt, reason, countsAsFailure: true };
    case "delete-pending":
      return { ...deletePending(sessions), attempt };
    case "delete-refused":
      if (registered) return { event: "kept", attempt, registered, reason };
      return { ...deletePending(sessions), event, attempt, reason };
    default:
      return { event, attempt };
  }
}
