/** An operator's decision about an order, which the registry must not contradict. */
import type { OrderKind } from "#domains/orders/kind.ts";
import { isRefused, lookAndPlan, purposesOf } from "#domains/orders/lookup.ts";
import type { Order, Outcome } from "#domains/orders/order.ts";
import { askInfo, later, type NameInfo } from "#domains/registry/ask.ts";
import type { RegistrySessions } from "#domains/registry/sessions.ts";

/** The step of an order that an operator settles. If the registry contradicts the operator, the settlement is refused, and the order continues. */
export async function settle(sessions: RegistrySessions, order: Order, kind: OrderKind): Promise<Outcome> {
  const name = await askInfo(sessions, order.domain_name, purposesOf(order, kind).lookup);
  const settled = await (kind.settled?.(sessions, order, name) ?? settleChange(sessions, order, kind, name));
  if (!("refusal" in settled)) return settled;
  order.settle_as = null;
  order.settle_note = null;
  const { status, phase } = order;
  order.unwritten.push({ event: "settle-refused", status, phase, note: settled.refusal });
  return { nextStepAt: later(sessions, sessions.profile.backoffMaxMs) };
}

export const settledReason = ({ settle_note }: Order) => settle_note ?? "settled by the operator";

/** It is done only if we hold the name, and failed only if the registry does not show what was ordered. */
async function settleChange(
  sessions: RegistrySessions,
  order: Order,
  kind: OrderKind,
  name: NameInfo,
): Promise<Outcome | { refusal: string }> {
  const plan = await lookAndPlan(sessions, order, kind, name);
  const { shown } = order;
  const reason = settledReason(order);
  if (plan.is === "done") return { event: "done", shown, end: plan.end };
  if (plan.is === "unknown" && plan.operatorNote === undefined) {
    return { refusal: `the registry could not be asked: ${plan.reason}` };
  }
  if (order.settle_as !== "done") {
    const ended = kind.refused?.(order, { event: "failed", reason });
    if (!ended || isRefused(ended)) return { event: "settled-failed", reason, shown };
    return { refusal: "the order first puts back what it took away, and then fails for your reason" };
  }
  if (!shown) return { refusal: "we do not hold the name" };
  if (kind.isUrgent && !kind.settledEnd) return { refusal: "the registry does not show it" };
  return { event: "settled-done", reason, shown, end: kind.settledEnd?.(order) };
}
