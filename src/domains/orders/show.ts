/** What an operator sees of orders: lists, and everything about one. */
import { statement } from "#db/statement.ts";
import type { FoundFee } from "#domains/orders/kind.ts";
import { getOrder } from "#domains/orders/operate.ts";
import { attemptColumns, kindNames, type Order, type OrderContext, selectAttempts } from "#domains/orders/order.ts";
import {
  isFinal,
  type OrderState,
  type OrderStatus,
  orderPhases,
  orderState,
  orderStatuses,
} from "#domains/orders/states.ts";
import type { Money } from "#registry/epp/commands/domain/fee.ts";

/** SQL: orders that need an operator: those with an open alarm, and those that a message contradicts. */
const attention = `
  (SELECT subject AS order_code, since, note FROM alarms WHERE kind = 'order' AND resolved_at IS NULL
   UNION ALL
   SELECT order_code, since, operator_note FROM alarms JOIN orders AS placed ON placed.domain_name = alarms.subject
   WHERE alarms.kind = 'renewal' AND resolved_at IS NULL AND ended_at IS NULL AND renewal_id IS NOT NULL AND operator_note IS NOT NULL
   UNION ALL
   SELECT ended.order_code, received_at, 'message ' || ended.registry_id || '/' || message_id || ' contradicts its end'
   FROM poll_messages JOIN orders AS ended ON ended.id = poll_messages.order_id
   WHERE needs_operator AND done_at IS NULL AND ended.ended_at IS NOT NULL)`;

const listColumns = {
  order_code: "text",
  kind: kindNames,
  domain_name: "text",
  reseller: "text",
  status: orderStatuses,
  phase: [...orderPhases, null],
  created_at: "timestamptz",
} as const;

const listed = `order_code, o.kind, domain_name, reseller.name AS reseller, status, phase, o.created_at`;

/** SQL: whether an order fits the filter. */
const isListed =
  "($status::text IS NULL OR status = $status) AND ($reseller_id::int8 IS NULL OR reseller_id = $reseller_id)";

const recentOrders = statement(
  "operator-orders",
  `SELECT ${listed} FROM orders AS o JOIN resellers AS reseller ON reseller.id = o.reseller_id
   WHERE ${isListed} ORDER BY o.id DESC LIMIT $rows_max`,
  listColumns,
);

const ordersInNeed = statement(
  "operator-orders-attention",
  `SELECT ${listed}, attention.since AS needs_operator_since, attention.note
   FROM ${attention} AS attention JOIN orders AS o USING (order_code)
     JOIN resellers AS reseller ON reseller.id = o.reseller_id
   WHERE ${isListed} ORDER BY attention.since LIMIT $rows_max`,
  { ...listColumns, needs_operator_since: "timestamptz?", note: "text?" },
);

const orderDetails = statement(
  "operator-order",
  `SELECT reseller.name AS reseller, o.updated_at,
     (SELECT min(since) FROM ${attention} AS attention WHERE attention.order_code = o.order_code) AS needs_operator_since,
     (SELECT string_agg(note, '; ' ORDER BY since) FROM ${attention} AS attention
       WHERE attention.order_code = o.order_code) AS attention
   FROM orders AS o JOIN resellers AS reseller ON reseller.id = o.reseller_id WHERE o.id = $order_id`,
  { reseller: "text", updated_at: "timestamptz", needs_operator_since: "timestamptz?", attention: "text?" },
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
  const fee = (order.found as FoundFee).fee ?? (order.input as { fee?: Money }).fee;
  return {
    order_code: order.order_code,
    kind: order.kind,
    domain_name: order.domain_name,
    reseller: details?.reseller,
    registry: order.registry_id,
    input: JSON.stringify(order.input),
    status: order.status,
    phase: order.phase,
    verify_cause: order.verify_cause,
    reason: order.reason,
    fee: fee ? `${fee.amount} ${fee.currency}` : null,
    created_at: order.created_at,
    updated_at: details?.updated_at,
    needs_operator_since: details?.needs_operator_since,
    attention: details?.attention,
    cancel_requested_at: order.cancel_requested_at,
    failed_tries: order.backoff_count,
    next_step_at: order.next_step_at,
    next: describeNext(order),
    history: await database.query(orderHistory, values),
    attempts: await database.query(orderAttempts, values),
  };
}

const stepDescriptions: Partial<Record<OrderState, string>> = {
  NotProvisioned: "it starts when the registry can be reached and no other order of the name is in progress",
  "Processing (send)": "the registry is asked what is left to do, and the next command is sent",
  "Processing (verify: answered)": "the registry is asked whether it shows what it reported as done",
  "Processing (verify: lost)": "the registry is asked whether the command whose answer was lost was executed",
  Pending: "it waits for the registry's message, and asks the registry from time to time",
};

/** What happens next to an order, for people. */
function describeNext(order: Order): string {
  const { status, maintenance_until, next_step_at, operator_note, cancel_requested_at } = order;
  if (isFinal(status)) return "nothing: it has ended";
  if (maintenance_until) return `the registry's maintenance ends, at ${maintenance_until.toISOString()}`;
  const when = next_step_at ? `at ${next_step_at.toISOString()}` : "at once";
  const request = cancel_requested_at ? "; the operator asked to cancel it" : "";
  const help = operator_note ? "; it needs an operator: deedhouse operator orders settle" : "";
  return `${when}: ${stepDescriptions[orderState(order)]}${request}${help}`;
}
