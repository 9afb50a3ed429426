/** What an order does in each of its states; states.ts says what follows. */
import { countedAttempts, unansweredAttempts } from "#domains/orders/attempts.ts";
import type { OrderKind } from "#domains/orders/kind.ts";
import { yieldToNewer } from "#domains/orders/newer-orders.ts";
import { sendNext } from "#domains/orders/next-command.ts";
import type { Order, Outcome } from "#domains/orders/order.ts";
import { lostAnswer } from "#domains/orders/send.ts";
import { settle } from "#domains/orders/settle.ts";
import { orderState } from "#domains/orders/states.ts";
import { isHeld } from "#domains/orders/turns.ts";
import { mayBeCancelled } from "#domains/orders/unsent.ts";
import { lookAtPending, verifyAnswered, verifyLost } from "#domains/orders/verify.ts";
import { later } from "#domains/registry/ask.ts";
import type { RegistrySessions } from "#domains/registry/sessions.ts";

/** How often an order asks whether its turn has come, should it miss the end of the one before it. */
const turnMs = 30_000;

/** Sends at most one command that changes the name. */
export async function step(sessions: RegistrySessions, order: Order, kind: OrderKind): Promise<Outcome> {
  const state = orderState(order);
  if (order.cancel_requested_at !== null && mayBeCancelled(order)) {
    return { event: "cancel", reason: "cancelled by the operator" };
  }
  const newer = state === "NotProvisioned" ? undefined : await yieldToNewer(sessions, order, kind);
  if (order.settle_as !== null) return settle(sessions, order, kind);
  switch (state) {
    case "NotProvisioned": {
      if (await mustWait(sessions, order, kind)) return { nextStepAt: later(sessions, turnMs) };
      return (await kind.start?.(sessions, order)) ?? { event: "started", isFree: true };
    }
    case "Processing (send)":
      // The process that sent it is gone: it may have been executed.
      if (unansweredAttempts(countedAttempts(order, kind)).length > 0) return lostAnswer(sessions);
      if (newer !== undefined) return { event: "superseded", reason: `superseded by ${newer}` };
      if (await mustWait(sessions, order, kind)) return { nextStepAt: later(sessions, turnMs) };
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

const mustWait = async (sessions: RegistrySessions, order: Order, { needsNoTurn }: OrderKind) =>
  !needsNoTurn && (await isHeld(sessions, order));
