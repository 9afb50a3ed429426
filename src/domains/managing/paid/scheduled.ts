/**
 * What is special about an order that the schedule has placed, because a name's term ends: it ends with its name, as
 * the rules of departures say, and not because the registry refuses it.
 */
import { attentionLookMs } from "#domains/changes/change.ts";
import { later } from "#domains/changes/proof.ts";
import type { ChangeOrder } from "#domains/managing/change-orders.ts";
import type { OrderKind } from "#domains/managing/order-kind.ts";
import { reasonOfAbsence, seeAbsence, seePresence } from "#domains/portfolio/looks.ts";

export const isScheduled = ({ renewal_id }: Pick<ChangeOrder, "renewal_id">): boolean => renewal_id !== null;

/** While its name seems gone, a scheduled order waits: the name leaves after another look, and the order ends with it. */
export function whileInPortfolio(plan: OrderKind["plan"]): OrderKind["plan"] {
  return async (sessions, order, name, ask) => {
    if (!isScheduled(order) || name.is === "unknown") return plan(sessions, order, name, ask);
    if (!order.is_in_portfolio) return { is: "refused", as: "failed", reason: "the name has left the portfolio" };
    if (name.is === "held-by-us") {
      const isDeleting = name.info.statuses.includes("pendingDelete");
      if (order.gone_since !== null && !isDeleting) await seePresence(sessions, order.domain_name, name.info);
      return plan(sessions, order, name, ask);
    }
    if ((await seeAbsence(sessions, order.domain_name, name)) === "left") {
      order.is_in_portfolio = false;
      return { is: "refused", as: "failed", reason: "the name has left the portfolio" };
    }
    return { is: "wait", until: later(sessions, attentionLookMs), reason: reasonOfAbsence(name) };
  };
}
