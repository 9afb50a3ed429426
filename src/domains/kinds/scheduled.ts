/**
 * What is special about an order that the schedule has placed, because a name's term ends: it ends with its name, as
 * the rules of departures say, and not because the registry refuses it.
 */

import { reasonOfAbsence, seeAbsence, seePresence } from "#domains/compare/looks.ts";
import type { OrderKind } from "#domains/orders/kind.ts";
import type { Order } from "#domains/orders/order.ts";
import { later } from "#domains/registry/ask.ts";
import { attentionRetryMs } from "#domains/registry/sessions.ts";

export const isScheduled = ({ renewal_id }: Pick<Order, "renewal_id">): boolean => renewal_id !== null;

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
    return { is: "wait", until: later(sessions, attentionRetryMs), reason: reasonOfAbsence(name) };
  };
}
