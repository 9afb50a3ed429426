/** What an operator sees of registration orders: lists, and everything about one order. */
import { statement } from "#db/statement.ts";
import { changePhases } from "#domains/orders/change-states.ts";
import { describeNextStep } from "#domains/orders/next-step.ts";
import type { Order, OrderContext } from "#domains/orders/orders.ts";
import { getOrder } from "#domains/orders/requests.ts";
import { type OrderState, type OrderStatus, orderPhases, orderState, orderStatuses } from "#domains/orders/states.ts";
import { attemptColumns, selectAttempts } from "#domains/registry/ask.ts";

/** SQL: orders that need an operator: those with an open alarm, and those that a message contradicts. */
const attention = `
  (SELECT subject AS order_code, since, note FROM alarms WHERE kind = 'order' AND resolved_at IS NULL
   UNION ALL
   SELECT change_code, since, operator_note FROM alarms JOIN changes AS placed ON placed.domain_name = alarms.subject
   WHERE alarms.kind = 'renewal' AND resolved_at IS NULL AND ended_at IS NULL AND renewal_id IS NOT NULL AND operator_note IS NOT NULL
   UNION ALL
   SELECT ended.order_code, received_at, 'message ' || registry_id || '/' || message_id || ' contradicts its end'
   FROM poll_messages JOIN registration_orders AS ended USING (registry_id)
   WHERE needs_operator AND done_at IS NULL AND ended.id = poll_messages.order_id)`;

const listColumns = {
  order_code: "text",
  kind: "text",
  domain_name: "text",
  reseller: "text",
  status: orderStatuses,
  phase: [...orderPhases, ...changePhases, null],
  created_at: "timestamptz",
} as const;

/** SQL: whether a row fits the filter. */
const isListed =
  "($status::text IS NULL OR status = $status) AND ($reseller_id::int8 IS NULL OR reseller_id = $reseller_id)";

const recentOrders = statement(
  "operator-orders",
  `SELECT order_code, o.kind, domain_name, reseller.name AS reseller, status, phase, o.created_at
   FROM (
     (SELECT order_code, 'create' AS kind, domain_name, reseller_id, status, phase, created_at FROM registration_orders
      WHERE ${isListed} ORDER BY id DESC LIMIT $rows_max)
     UNION ALL
     (SELECT change_code, kind, domain_name, reseller_id, status, phase, created_at FROM changes
      WHERE ${isListed} ORDER BY id DESC LIMIT $rows_max)) AS o
     JOIN resellers AS reseller ON reseller.id = o.reseller_id
   ORDER BY o.created_at DESC LIMIT $rows_max`,
  listColumns,
);

const ordersInNeed = statement(
  "operator-orders-attention",
  `SELECT order_code, o.kind, domain_name, reseller.name AS reseller, status, phase, o.created_at,
     attention.since AS needs_operator_since, attention.note
   FROM ${attention} AS attention JOIN (
     SELECT order_code, 'create' AS kind, domain_name, reseller_id, status, phase, created_at FROM registration_orders
     UNION ALL
     SELECT change_code, kind, domain_name, reseller_id, status, phase, created_at FROM changes) AS o USING (order_code)
     JOIN resellers AS reseller ON reseller.id = o.reseller_id
   WHERE ${isListed}
   ORDER BY attention.since LIMIT $rows_max`,
  { ...listColumns, needs_operator_since: "timestamptz?", note: "text?" },
);

const orderDetails = statement(
  "operator-order",
  `SELECT reseller.name AS reseller, o.reason, o.fee_amount, o.fee_currency, o.updated_at,
     (SELECT min(since) FROM ${attention} AS attention WHERE attention.order_code = o.order_code) AS needs_operator_since,
     (SELECT string_agg(note, '; ' ORDER BY since) FROM ${attention} AS attention
       WHERE attention.order_code = o.order_code) AS attention
   FROM registration_orders AS o JOIN resellers AS reseller ON reseller.id = o.reseller_id WHERE o.id = $order_id`,
  {
    reseller: "text",
    reason: "text?",
    fee_amount: "numeric?",
    fee_currency: "text?",
    updated_at: "timestamptz",
    needs_operator_since: "timestamptz?",
    attention: "text?",
  },
);

const orderHistory = statement(
  "operator-order-history",
  "SELECT at, event, status, phase, note FROM order_history WHERE order_id = $order_id ORDER BY id",
  { at: "timestamptz", event: "text", status: orderStatuses, phase: [...orderPhases, null], note: "text?" },
);

const orderAttempts = statement(
  "operator-order-attempts",
  `${selectAttempts}
   WHERE order_id = $order_id ORDER BY number`,
  attemptColumns,
);

export interface OrderFilter {
  /** Only orders that need an operator. */
  attention: boolean;
  status?: OrderStatus | undefined;
  resellerId?: number | undefined;
  limit: number;
}

/** The newest orders first; orders that need an operator by how long they have needed one. */
export async function listOrders(context: OrderContext, { attention, status, resellerId, limit }: OrderFilter) {
  const values = { status: status ?? null, reseller_id: resellerId ?? null, rows_max: limit };
  return context.database.query(attention ? ordersInNeed : recentOrders, values);
}

/** @throws OperatorError when there is no such order */
export async function reportOrder(context: OrderContext, code: string) {
  const { database } = context;
  const order = await getOrder(context, code);
  const values = { order_id: order.id };
  const [details] = await database.query(orderDetails, values);
  return {
    order,
    details,
    next: describeNext(order),
    history: await database.query(orderHistory, values),
    attempts: await database.query(orderAttempts, values),
  };
}

const stepDescriptions: Record<
  Exclude<OrderState, "Errors" | "Finished" | "FailedValidation" | "Cancelled">,
  string
> = {
  NotProvisioned: "it starts as soon as there is a session with the registry",
  "Processing (check)": "the registry is asked whether the name is free",
  "Processing (create)": "the contact is created if necessary, and the create is sent",
  "Processing (waiting)": "it starts again with a check",
  "Processing (verify: lost)": "the registry is asked whether the create whose answer was lost was executed",
  "Processing (verify: exists)": "the registry is asked who holds the name",
  "Processing (verify: created)": "the registry is asked until when the name is registered",
  "Processing (cancel)": "the registry is asked for the name, and then it is deleted",
  Pending: "it waits for the registry's message, and asks the registry from time to time",
};

function describeNext(order: Order): string {
  const request = order.cancel_requested_at ? "; the operator asked to cancel it" : "";
  return describeNextStep(order, stepDescriptions[orderState(order) as keyof typeof stepDescriptions], request);
}
