/** What an operator sees of registration orders: lists, and everything about one order. */
import { statement } from "#db/statement.ts";
import { attemptColumns } from "#domains/changes/proof.ts";
import type { Order, OrderContext } from "#domains/orders/orders.ts";
import { getOrder } from "#domains/orders/requests.ts";
import {
  isFinal,
  type OrderState,
  type OrderStatus,
  orderPhases,
  orderState,
  orderStatuses,
} from "#domains/orders/states.ts";

/** SQL: orders that need an operator: those with an open alarm, and those that a message contradicts. */
const attention = `
  (SELECT subject AS order_code, since, note FROM alarms WHERE kind = 'order' AND resolved_at IS NULL
   UNION ALL
   SELECT ended.order_code, received_at, 'message ' || registry_id || '/' || message_id || ' contradicts its end'
   FROM poll_messages JOIN registration_orders AS ended USING (registry_id)
   WHERE needs_operator AND done_at IS NULL AND ended.id = poll_messages.order_id)`;

const listColumns = {
  order_code: "text",
  domain_name: "text",
  reseller: "text",
  status: orderStatuses,
  phase: [...orderPhases, null],
  created_at: "timestamptz",
} as const;

const recentOrders = statement(
  "operator-orders",
  `SELECT order_code, domain_name, reseller.name AS reseller, status, phase, o.created_at
   FROM registration_orders AS o JOIN resellers AS reseller ON reseller.id = o.reseller_id
   WHERE ($status::text IS NULL OR status = $status) AND ($reseller_id::int8 IS NULL OR reseller_id = $reseller_id) 
   ORDER BY o.id DESC LIMIT $rows_max`,
  listColumns,
);

const ordersInNeed = statement(
  "operator-orders-attention",
  `SELECT order_code, domain_name, reseller.name AS reseller, status, phase, o.created_at,
     attention.since AS needs_operator_since, attention.note
   FROM ${attention} AS attention JOIN registration_orders AS o USING (order_code)
     JOIN resellers AS reseller ON reseller.id = o.reseller_id
   WHERE ($status::text IS NULL OR status = $status) AND ($reseller_id::int8 IS NULL OR reseller_id = $reseller_id) 
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
  `SELECT cl_trid, command, committed_at, answered_at, result_code, sv_trid FROM attempts
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
  "Processing (cancel)": "the registry is asked for the name, and then it is deleted",
  Pending: "it waits for the registry's message, and asks the registry from time to time",
};

/** What happens next to an order, for people. */
function describeNext(order: Order): string {
  if (isFinal(order.status)) return "nothing: it has ended";
  if (order.maintenance_until) return `the registry's maintenance ends, at ${order.maintenance_until.toISOString()}`;
  const step = stepDescriptions[orderState(order) as keyof typeof stepDescriptions];
  const when = order.next_step_at ? `at ${order.next_step_at.toISOString()}` : "at once";
  const request = order.cancel_requested_at ? "; the operator asked to cancel it" : "";
  const help = order.operator_note ? "; it needs an operator: deedhouse orders settle" : "";
  return `${when}: ${step}${request}${help}`;
}
