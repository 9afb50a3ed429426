/** An operator's decision about an order, which the registry must not contradict. */

import type { ChangeOrder, ChangeOutcome } from "#domains/orders/change-orders.ts";
import { isRefusal, lookAndPlan, type OrderKind, purposeOf } from "#domains/orders/kind.ts";
import { askInfo, later } from "#domains/registry/ask.ts";
import type { RegistrySessions } from "#domains/registry/sessions.ts";

/**
 * The step of an order that an operator settles. It is done only if we hold the name, and failed only if the registry does not
 * show what was ordered; otherwise the settlement is refused, and the order continues.
 */
export async function settle(sessions: RegistrySessions, order: ChangeOrder, kind: OrderKind): Promise<ChangeOutcome> {
  const name = await askInfo(sessions, order.domain_name, purposeOf(order));
  const plan = await lookAndPlan(sessions, order, kind, name);
  const { shown, settle_as: as } = order;
  const reason = order.settle_note ?? "settled by the operator";
  if (plan.is === "done") return { event: "done", shown, end: plan.end };
  if (plan.is === "unknown" && plan.operatorNote === undefined) {
    return refuseSettlement(sessions, order, `the registry could not be asked: ${plan.reason}`);
  }
  if (as === "failed") {
    const ended = kind.refused?.(order, { event: "failed", reason });
    if (!ended || isRefusal(ended)) return { event: "settled-failed", reason, shown };
    return refuseSettlement(
      sessions,
      order,
      "the order first puts back what it took away, and then fails for your reason",
    );
  }
  if (!shown) return refuseSettlement(sessions, order, "we do not hold the name");
  if (kind.isUrgent && !kind.settledEnd) return refuseSettlement(sessions, order, "the registry does not show it");
  return { event: "settled-done", reason, shown, end: kind.settledEnd?.(order) };
}

function refuseSettlement(sessions: RegistrySessions, order: ChangeOrder, refusal: string): ChangeOutcome {
  order.settle_as = null;
  order.settle_note = null;
  const { status, phase } = order;
  order.unwritten.push({ event: "settle-refused", status, phase, note: refusal });
  return { nextStepAt: later(sessions, sessions.profile.backoffMaxMs) };
}
