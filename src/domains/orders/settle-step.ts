/**
 * Settles an order: an operator says how it ended, and the registry must agree. An order is registered only if the registry
 * holds the name for us, and failed only if it does not, unless the operator forces it.
 */

import { isInPortfolio, registeredOf } from "#domains/kinds/create.ts";
import type { Order, OrderOutcome } from "#domains/orders/orders.ts";
import { askInfo, later, type NameInfo } from "#domains/registry/ask.ts";
import type { RegistrySessions } from "#domains/registry/sessions.ts";

/** Compares what the operator says with what the registry shows. If they disagree, the settlement is refused and the order continues. */
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

const refusalOf = ({ shown, reason }: Extract<NameInfo, { is: "unknown" }>) =>
  shown ? reason : "the registry could not be asked: try again later";

async function asRegistered({ context, profile }: RegistrySessions, order: Order, name: NameInfo): Promise<Verdict> {
  if (name.is === "unknown") return { refusal: refusalOf(name) };
  if (name.is === "absent") return { refusal: "the registry does not hold the name" };
  if (name.is === "held-by-other") return { refusal: "another registrar holds the name" };
  if (name.info.statuses.includes("pendingCreate")) {
    return { refusal: "the registry has not decided about the name yet (pendingCreate)" };
  }
  if (await isInPortfolio(context, order)) return { refusal: "the name is in a portfolio already" };
  const registered = registeredOf(profile, order, name.info);
  return registered
    ? { event: "settled-registered", registered }
    : { refusal: "the registry does not show the dates of the registration" };
}

function asFailed(order: Order, name: NameInfo): Verdict {
  if (order.settle_as === "failed-forced" || name.is === "absent" || name.is === "held-by-other") {
    return { event: "settled-failed" };
  }
  if (name.is === "unknown") return { refusal: refusalOf(name) };
  const advice = "delete it there, cancel the order, or use --force if somebody else is responsible for the name";
  return { refusal: `the registry holds the name for us: ${advice}` };
}
