/**
 * Cancels an order whose create may have been sent. First the registry shows whether it was executed. A name that it holds for
 * us is deleted while that is free (the add grace period, RFC 3915 §3.1), and kept after that. A delete follows the rules of a
 * create: its attempt is committed before its bytes are sent, and after a lost answer only `<info>` decides. Meanwhile the name
 * is not in the portfolio.
 */

import { believe, eventsByCode, type Kind, lostAnswer, type Proof, sendKind } from "#domains/changes/kind.ts";
import { askInfo, later, type NameInfo, ofCommand, unansweredAttempts } from "#domains/changes/proof.ts";
import { registeredOf, stillUnknown } from "#domains/orders/kind-create.ts";
import { type Order, type OrderOutcome, orderTable, type Registered } from "#domains/orders/orders.ts";
import type { OrderEvent } from "#domains/orders/states.ts";
import type { RegistrySessions } from "#domains/registry/sessions.ts";
import { dayMs } from "#lib/clock.ts";
import { domainDelete } from "#registry/epp/commands/domain/delete.ts";

const deleteName = "domain:delete";
/** How many deletes one order may send; after that an operator decides. */
const deleteAttemptsMax = 5;

/** What the result codes of a `<delete>` mean (RFC 5730 §3). 2303: the object does not exist. */
const deleteEvents = eventsByCode<OrderEvent>({
  deleted: [1000, 2303],
  "delete-pending": [1001],
  "not-executed": [2002, 2200, 2202, 2501, 2502],
});

/** The order's event for a delete's result code; every other failure below 2400 is a refusal. */
function orderEventOfDelete(code: number): OrderEvent {
  return deleteEvents.get(code) ?? (code >= 2000 && code < 2400 ? "delete-refused" : "unanswered");
}

const heldEvents = new Set<OrderEvent | undefined>(["created", "ours", "approved"]);
const pendingEvents = new Set<OrderEvent | undefined>(["create-pending", "ours-pending"]);

/** Changes the outcome of a step for an order that the operator has asked to cancel. */
export function applyCancelRequest(
  { context, profile }: RegistrySessions,
  order: Order,
  outcome: OrderOutcome,
): OrderOutcome {
  if (order.cancel_requested_at === null) return outcome;
  // Send the delete at once.
  if (pendingEvents.has(outcome.event)) return { ...outcome, nextStepAt: undefined };
  const { registered, ...rest } = outcome;
  if (!registered || !heldEvents.has(outcome.event)) return outcome;
  const graceEndsAt = registered.registeredAt.getTime() + profile.graceDays.add * dayMs;
  if (context.clock.now().getTime() < graceEndsAt) return { ...rest, event: "held-unwanted" };
  return { ...outcome, reason: "the cancellation came after the add grace period" };
}

/** The step of `Processing (cancel)`: the registry holds a name that is no longer wanted. */
export async function cancelHeld(sessions: RegistrySessions, order: Order): Promise<OrderOutcome> {
  const { context } = sessions;
  const deletes = readDeletes(sessions, order);
  // The process that sent it is gone: it may still be executed.
  if (deletes.isUnsettled) return lostAnswer(sessions);
  const name = await askInfo(sessions, order.domain_name);
  const proof = proofOfDelete(sessions, order, name);
  if (proof) return believe(sessions, order, deleteKind, proof);
  const registered = name.is === "held-by-us" ? registeredOf(sessions.profile, order, name.info) : undefined;
  if (!registered) return stillUnknown(context, order, "info brought no dates");
  const outcome = applyCancelRequest(sessions, order, { event: "ours", registered });
  if (outcome.event !== "held-unwanted") return { ...outcome, event: "kept" };
  return sendKind(sessions, orderTable, order, deleteKindOf(registered));
}

/** The same while the create is pending: the registry may allow the delete, or refuse it with 2304 (RFC 5731 §2.3). */
export async function cancelPending(sessions: RegistrySessions, order: Order): Promise<OrderOutcome> {
  const { context, profile } = sessions;
  const deletes = readDeletes(sessions, order);
  if (deletes.isUnsettled) return lostAnswer(sessions);
  const name = await askInfo(sessions, order.domain_name);
  if (name.is === "unknown") return stillUnknown(context, order, name.reason);
  if (name.is !== "held-by-us") {
    if (deletes.mayBeExecuted) {
      return believe(sessions, order, deleteKind, proofOfDelete(sessions, order, name)!);
    }
    if (name.is === "held-by-other") return { event: name.is, reason: "the name is held by another registrar" };
    return { event: "absent", reason: "the registry did not approve the registration" };
  }
  const registered = registeredOf(profile, order, name.info);
  if (!name.info.statuses.includes("pendingCreate") && registered) return { event: "ours", registered };
  if (deletes.isUnanswered) return believe(sessions, order, deleteKind, stillHeld);
  if (!deletes.isDecided) return sendKind(sessions, orderTable, order, deleteKind);
  // The registry has answered the delete: now its decision about the create counts.
  return { nextStepAt: later(sessions, profile.reconcileIntervalMs) };
}

const isUnanswered = ({ attempts }: Order) => unansweredAttempts(ofCommand(attempts, deleteName)).length > 0;

function readDeletes({ context, profile }: RegistrySessions, order: Order) {
  const attempts = ofCommand(order.attempts, deleteName);
  const answers = attempts.flatMap(({ result_code }) =>
    result_code === null ? [] : [orderEventOfDelete(result_code)],
  );
  const unanswered = unansweredAttempts(attempts);
  const settledBefore = context.clock.now().getTime() - profile.settleMs;
  return {
    isUnanswered: unanswered.length > 0,
    /** The settle time of one is not over yet. */
    isUnsettled: unanswered.some(({ committed_at }) => committed_at.getTime() > settledBefore),
    /** The registry has executed, accepted or refused one. */
    isDecided: answers.some((event) => event !== "not-executed" && event !== "unanswered"),
    mayBeExecuted: unanswered.length > 0 || answers.includes("deleted") || answers.includes("delete-pending"),
  };
}

/** The delete was not executed: send it again. */
const stillHeld: Proof<OrderOutcome> = {
  is: "not-done",
  outcome: () => ({ event: "still-held", closesAttempts: true }),
};

/** `undefined` while the name is held and no delete is unanswered. */
function proofOfDelete(sessions: RegistrySessions, order: Order, name: NameInfo): Proof<OrderOutcome> | undefined {
  switch (name.is) {
    case "unknown":
      return { is: "unknown", outcome: stillUnknown(sessions.context, order, name.reason) };
    case "held-by-other":
      return { is: "decided", outcome: { event: "deleted" } };
    case "absent":
      return { is: "done", outcome: { event: "deleted" } };
    case "held-by-us":
      if (name.info.statuses.includes("pendingDelete")) return { is: "decided", outcome: deletePending(sessions) };
      return isUnanswered(order) ? stillHeld : undefined;
  }
}

function deletePending(sessions: RegistrySessions): OrderOutcome {
  return { event: "delete-pending", nextStepAt: later(sessions, sessions.profile.reconcileIntervalMs) };
}

/** @param registered the order finishes with these dates when the registry refuses; without them it stays pending */
const deleteKindOf = (registered?: Registered): Kind<Order, OrderOutcome> => ({
  command: deleteName,
  purposes: { command: "transform", info: "check" },

  async frame(sessions, order) {
    const sent = ofCommand(order.attempts, deleteName).length;
    if (sent < deleteAttemptsMax) return { command: domainDelete(order.domain_name) };
    const operatorNote = `${sent} deletes were sent, and the name is still held`;
    return { instead: { ...stillUnknown(sessions.context, order), operatorNote } };
  },

  meaning: orderEventOfDelete,

  answered(sessions, _order, { event, attempt, reason: said }) {
    const reason = `delete: ${said}`;
    switch (event) {
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
  },

  unreachable: () => ({ event: "unreachable", countsAsFailure: true }),
  invalid(_attempt, reason) {
    throw new Error(`the delete could not be sent: ${reason}`);
  },
  proof: (sessions, order, name) => proofOfDelete(sessions, order, name) ?? stillHeld,
  isLost: isUnanswered,
  seenOnce: "gone-once",
  unknown: ({ context }, order, reason) => stillUnknown(context, order, reason),
});
const deleteKind = deleteKindOf();
