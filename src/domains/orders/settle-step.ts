/**
 * Row 26: an operator says what became of an order that cannot be decided by asking alone. The registry is asked all the
 * same: a name is registered only if it holds it for us, and an order failed only if it does not, unless forced.
 */
import { askInfo, later, type NameInfo } from "#domains/changes/proof.ts";
import { isInPortfolio, registeredOf } from "#domains/orders/kind-create.ts";
import type { Order, OrderOutcome } from "#domains/orders/orders.ts";
import type { RegistrySessions } from "#domains/registry/sessions.ts";

/** Holds what the operator says against the registry. When it is refused the order goes on. */
export async function settleOrder(sessions: RegistrySessions, order: Order): Promise<OrderOutcome> {
  const name = await askInfo(sessions, order.domain_name);
  const reason = order.settle_note ?? "settled by the operator";
  const verdict = order.settle_as === "registered" ? await asRegistered(sessions, order, name) : asFailed(order, name);
  if (!("refusal" in verdict)) return { ...verdict, reason };
  order.settle_as = null;
  order.settle_note = null;
  const { status, phase } = order;
  order.unwritten.push({ event: "settle-refused", status, phase, note: verdict.refusal });
  return { nextStepAt: later(sessions, sessions.profile.backoffMaxMs) };
}

type Verdict = OrderOutcome | { refusal: string };

const notAsked = "the registry could not be asked just now: say it again later";

async function asRegistered({ context }: RegistrySessions, order: Order, name: NameInfo): Promise<Verdict> {
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

function asFailed(order: Order, name: NameInfo): Verdict {
  if (order.settle_as === "failed-forced" || name.is === "absent" || name.is === "held-by-other") {
    return { event: "settled-failed" };
  }
  if (name.is === "unknown") return { refusal: notAsked };
  const advice = "delete it there, or cancel the order, or --force it if somebody else answers for the name";
  return { refusal: `the registry holds the name for us: ${advice}` };
}
