/**
 * Row 26: an operator says what became of an order that cannot be decided by asking alone. The registry is asked all the
 * same: a name is registered only if it holds it for us, and an order failed only if it does not, unless forced.
 */
import { statement } from "#db/statement.ts";
import { askInfo, type NameInfo, registeredOf } from "#domains/orders/name-info.ts";
import { lockOrder, type Order, type OrderHappening, postpone } from "#domains/orders/orders.ts";
import { isInPortfolio } from "#domains/orders/verify-step.ts";
import type { RegistrySessions } from "#domains/registry/sessions.ts";

const refuseRequest = statement(
  "order-settle-refuse",
  `WITH refused AS (
     UPDATE registration_orders SET settle_as = NULL, settle_note = NULL WHERE id = $1 RETURNING status, phase)
   INSERT INTO order_history (order_id, at, event, status, phase, note)
   SELECT $1, $2, 'settle-refused', status, phase, $3 FROM refused`,
  {},
);

/** Holds what the operator says against the registry; `undefined` when it was refused and the order goes on. */
export async function settleOrder(sessions: RegistrySessions, order: Order): Promise<OrderHappening | undefined> {
  const { context, profile } = sessions;
  const name = await askInfo(sessions, order);
  const reason = order.settle_note ?? "settled by the operator";
  const outcome = order.settle_as === "registered" ? await asRegistered(sessions, order, name) : asFailed(order, name);
  if ("refusal" in outcome) {
    await context.database.transaction(async (tx) => {
      await lockOrder(tx, order);
      await postpone(context, tx, order, profile.backoffMaxMs);
      await tx.query(refuseRequest, [order.id, context.clock.now(), outcome.refusal]);
    });
    return undefined;
  }
  return { ...outcome, reason };
}

type Outcome = OrderHappening | { refusal: string };

const notAsked = "the registry could not be asked just now: say it again later";

async function asRegistered({ context }: RegistrySessions, order: Order, name: NameInfo): Promise<Outcome> {
  if (name.is === "unknown") return { refusal: notAsked };
  if (name.is === "absent") return { refusal: "the registry does not hold the name" };
  if (name.is === "held-by-other") return { refusal: "another registrar holds the name" };
  if (name.info.statuses.includes("pendingCreate")) {
    return { refusal: "the registry has not decided about the name yet (pendingCreate)" };
  }
  if (await isInPortfolio(context, order)) return { refusal: "the name is in a portfolio already" };
  const registered = registeredOf(name.info);
  return registered
    ? { event: "settled-registered", registered }
    : { refusal: "the registry does not tell since when and until when the name is registered" };
}

function asFailed(order: Order, name: NameInfo): Outcome {
  if (order.settle_as === "failed-forced" || name.is === "absent" || name.is === "held-by-other") {
    return { event: "settled-failed" };
  }
  if (name.is === "unknown") return { refusal: notAsked };
  const advice = "delete it there, or cancel the order, or --force it if somebody else answers for the name";
  return { refusal: `the registry holds the name for us: ${advice}` };
}
