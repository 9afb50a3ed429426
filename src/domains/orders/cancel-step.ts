/**
 * Rows 23 and 24: an order that the operator wants cancelled, although its create was sent. First it is known what
 * became of the create; a name that is held for us is deleted while that costs nothing (the add grace period, RFC 3915
 * §3.1), and kept otherwise. A delete is sent as a create is: its attempt is committed before its bytes, and after a
 * lost answer only `<info>` decides. The name never is in the portfolio meanwhile.
 */

import { believeKind, type Kind, sendKind } from "#domains/changes/kind.ts";
import { askInfo, later, type NameInfo, ofCommand, type Proof, unansweredAttempts } from "#domains/changes/proof.ts";
import { lostAnswer } from "#domains/changes/send.ts";
import { registeredOf, stillUnknown } from "#domains/orders/kind-create.ts";
import { type Order, type OrderOutcome, orderTable, type Registered } from "#domains/orders/orders.ts";
import type { OrderEvent } from "#domains/orders/states.ts";
import type { RegistrySessions } from "#domains/registry/sessions.ts";
import { domainDelete } from "#registry/epp/commands/domain/delete.ts";

const dayMs = 24 * 60 * 60_000;
const deleteName = "domain:delete";
/** Deletes that one order may send; after that an operator decides. */
const deleteAttemptsMax = 5;

/** What a `<delete>`'s result code means for an order (RFC 5730 §3). */
const deleteEvents: Readonly<Record<number, OrderEvent>> = {
  1000: "deleted",
  1001: "delete-pending",
  2002: "not-executed",
  2200: "not-executed",
  2202: "not-executed",
  // There is no such object any more.
  2303: "deleted",
  2400: "unanswered",
  2500: "unanswered",
  2501: "not-executed",
  2502: "not-executed",
};

/** The order event of a `<delete>`'s result code; every other failure (RFC 5730 §3) is a refusal. */
function orderEventOfDelete(code: number): OrderEvent {
  return deleteEvents[code] ?? (code >= 2000 && code < 2400 ? "delete-refused" : "unanswered");
}

const heldEvents = new Set<OrderEvent | undefined>(["created", "ours", "approved"]);
const pendingEvents = new Set<OrderEvent | undefined>(["create-pending", "ours-pending"]);

/** What happens to an order that the operator wants cancelled, instead of what would have happened to it. */
export function applyCancelRequest(
  { context, profile }: RegistrySessions,
  order: Order,
  outcome: OrderOutcome,
): OrderOutcome {
  if (order.cancel_requested_at === null) return outcome;
  // Its delete is tried at once.
  if (pendingEvents.has(outcome.event)) return { ...outcome, nextStepAt: undefined };
  const { registered, ...rest } = outcome;
  if (!registered || !heldEvents.has(outcome.event)) return outcome;
  const graceEndsAt = registered.registeredAt.getTime() + profile.graceDays.add * dayMs;
  if (context.clock.now().getTime() < graceEndsAt) return { ...rest, event: "held-unwanted" };
  return { ...outcome, reason: "the cancellation came after the add grace period" };
}

/** The step of `Processing (cancel)`: a name that is held, and not wanted. */
export async function cancelHeld(sessions: RegistrySessions, order: Order): Promise<OrderOutcome> {
  const { context } = sessions;
  const deletes = readDeletes(sessions, order);
  // The process that sent it is gone: it may still be executed.
  if (deletes.isUnsettled) return lostAnswer(sessions);
  const name = await askInfo(sessions, order.domain_name);
  const proof = proofOfDelete(sessions, order, name);
  if (proof) return believeKind(sessions, order, deleteKind, proof);
  const registered = name.is === "held-by-us" ? registeredOf(name.info) : undefined;
  if (!registered) return stillUnknown(context, order, "info brought no dates");
  const heeded = applyCancelRequest(sessions, order, { event: "ours", registered });
  if (heeded.event !== "held-unwanted") return { ...heeded, event: "kept" };
  return sendKind(sessions, orderTable, order, deleteKindOf(registered));
}

/** The same while the create is still pending: the registry may let it be deleted, or says 2304 (RFC 5731 §2.3). */
export async function cancelPending(sessions: RegistrySessions, order: Order): Promise<OrderOutcome> {
  const { context, profile } = sessions;
  const deletes = readDeletes(sessions, order);
  if (deletes.isUnsettled) return lostAnswer(sessions);
  const name = await askInfo(sessions, order.domain_name);
  if (name.is === "unknown") return stillUnknown(context, order, name.reason);
  if (name.is !== "held-by-us") {
    if (deletes.mayBeExecuted) {
      return believeKind(sessions, order, deleteKind, proofOfDelete(sessions, order, name)!);
    }
    if (name.is === "held-by-other") return { event: name.is, reason: "the name is held by another registrar" };
    return { event: "absent", reason: "the registry did not approve the registration" };
  }
  const registered = registeredOf(name.info);
  if (!name.info.statuses.includes("pendingCreate") && registered) return { event: "ours", registered };
  if (deletes.isUnanswered) return believeKind(sessions, order, deleteKind, stillHeld);
  if (!deletes.isDecided) return sendKind(sessions, orderTable, order, deleteKind);
  // The registry has answered; what it decides about the create decides.
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
    /** The settle time of one is not over. */
    isUnsettled: unanswered.some(({ committed_at }) => committed_at.getTime() > settledBefore),
    /** The registry has answered what it makes of it. */
    isDecided: answers.some((event) => event !== "not-executed" && event !== "unanswered"),
    mayBeExecuted: unanswered.length > 0 || answers.includes("deleted") || answers.includes("delete-pending"),
  };
}

/** The delete was not executed, so it is sent again. */
const stillHeld: Proof<OrderOutcome> = {
  is: "not-done",
  outcome: () => ({ event: "still-held", closesAttempts: true }),
};

/** Nothing while the name is held and no delete is in doubt. */
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

/** @param registered what the order finishes with when the registry refuses; without it the order stays pending */
const deleteKindOf = (registered?: Registered): Kind<Order, OrderOutcome> => ({
  command: deleteName,
  lanes: { command: "transform", info: "check" },

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
