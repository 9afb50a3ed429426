/**
 * Registration orders in the database: their rows, and the one way in which their state changes. Their attempts are in
 * attempts.ts.
 */
import { raiseAlarm, resolveAlarm } from "#alarms.ts";
import type { Context } from "#context.ts";
import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import { isFinal, nextOrderState, type OrderEvent, orderColumns, orderState } from "#domains/orders/states.ts";
import { assertLeaseStands, isPresentEpoch, type OwnerLease } from "#domains/registry/owner-lease.ts";
import type { AttemptResult } from "#domains/registry/send-once.ts";
import { enqueueOrder } from "#queue/enqueue.ts";

/** What an order's authInfo is sealed for: it opens in no other row. */
export const authInfoRow = (orderCode: string) => `registration_orders.auth_info/${orderCode}`;

/** What the orders' rows need; an operator's command has no more, and needs no lease. */
export interface OrderContext extends Pick<Context, "database" | "clock" | "log"> {
  lease?: OwnerLease;
}

const orderById = statement(
  "order-by-id",
  `SELECT id, order_code, reseller_id, domain_name, registry_id, period_years, auth_info_sealed, status, phase,
     verify_cause, confirm_after, contact_renewed, backoff_count, waiting_since, next_step_at, created_at,
     operator_note, cancel_requested_at, settle_as, settle_note, fee_amount, fee_currency,
     (SELECT maintenance_until FROM registries WHERE registries.id = registry_id
        AND maintenance_from <= $2::timestamptz AND maintenance_until > $2::timestamptz) AS maintenance_until
   FROM registration_orders WHERE id = $1`,
  {
    id: "int8",
    order_code: "text",
    reseller_id: "int8",
    domain_name: "text",
    registry_id: "text",
    period_years: "int4",
    auth_info_sealed: "bytea",
    status: "text",
    phase: "text?",
    verify_cause: "text?",
    confirm_after: "timestamptz?",
    contact_renewed: "bool",
    backoff_count: "int4",
    waiting_since: "timestamptz?",
    next_step_at: "timestamptz?",
    created_at: "timestamptz",
    operator_note: "text?",
    cancel_requested_at: "timestamptz?",
    settle_as: "text?",
    settle_note: "text?",
    fee_amount: "numeric?",
    fee_currency: "text?",
    /** When the registry's maintenance ends that is going on. */
    maintenance_until: "timestamptz?",
  },
);

const orderIdByCode = statement("order-id-by-code", "SELECT id FROM registration_orders WHERE order_code = $1", {
  id: "int8",
});

export type Order = NonNullable<(typeof orderById)["row"]>;

// Who calls for the order's next step sets another time for it: what was called for must not be slept over. Our dates have
// milliseconds. An owner whose epoch is over decides nothing more.
const updateOrder = statement(
  "order-update",
  `UPDATE registration_orders SET status = $4, phase = $5, verify_cause = $6, updated_at = $7,
     ended_at = CASE WHEN $4 IN ('Errors', 'Finished', 'FailedValidation', 'Cancelled') THEN $7::timestamptz END,
     next_step_at = $8, backoff_count = $9, confirm_after = $10, contact_renewed = $11, waiting_since = $12,
     reason = coalesce($13, reason), operator_note = $14
   WHERE id = $1 AND status = $2 AND phase IS NOT DISTINCT FROM $3
     AND cancel_requested_at IS NOT DISTINCT FROM $15 AND settle_as IS NOT DISTINCT FROM $16
     AND date_trunc('milliseconds', next_step_at) IS NOT DISTINCT FROM $17
     AND ($18::int8 IS NULL OR ${isPresentEpoch("registration_orders.registry_id", "$18")}) RETURNING id`,
  { id: "int8" },
);

const insertHistory = statement(
  "order-history-insert",
  `WITH written AS (
     INSERT INTO order_history (order_id, at, event, status, phase, note) VALUES ($1, $2, $3, $4, $5, $6))
   SELECT pg_notify('order_changed', $7)::text AS notified`,
  { notified: "text" },
);

const insertDomain = statement(
  "domain-insert",
  `INSERT INTO domains (domain_name, reseller_id, order_id, registry_id, registration_date, expiration_date,
     registry_ex_date, will_renew, status)
   VALUES ($1, $2, $3, $4, $5, $6, $6, true, $7)`,
  {},
);

const lockRow = statement(
  "order-lock",
  `SELECT id FROM registration_orders WHERE id = $1 AND status = $2 AND phase IS NOT DISTINCT FROM $3
     AND cancel_requested_at IS NOT DISTINCT FROM $4 AND settle_as IS NOT DISTINCT FROM $5 FOR UPDATE`,
  { id: "int8" },
);

/** Values: clTRID, result code, svTRID, and when it was answered, or nothing while it may still be executed. */
export const answerAttempt = statement(
  "attempt-answer",
  `UPDATE order_attempts SET result_code = $2, sv_trid = $3, answered_at = $4 WHERE cl_trid = $1`,
  {},
);

const closeAttempts = statement(
  "attempts-close",
  "UPDATE order_attempts SET answered_at = $2 WHERE order_id = $1 AND answered_at IS NULL",
  {},
);

const absences = statement(
  "order-absences",
  "SELECT count(*) AS absences FROM order_history WHERE order_id = $1 AND event = 'absent'",
  { absences: "int8" },
);

export async function findOrder(context: OrderContext, orderId: number): Promise<Order | undefined> {
  const [order] = await context.database.query(orderById, [orderId, context.clock.now()]);
  return order;
}

export async function findOrderByCode(context: OrderContext, code: string): Promise<Order | undefined> {
  const [row] = await context.database.query(orderIdByCode, [code]);
  return row && findOrder(context, row.id);
}

/** How many of its creates were lost and then not found at the registry (row 17). */
export async function countAbsences(context: OrderContext, orderId: number): Promise<number> {
  const [row] = await context.database.query(absences, [orderId]);
  return row?.absences ?? 0;
}

/** The order is not any more as it was read, in its state, its time or what the operator wants of it: read it again. */
export class OrderChanged extends Error {}

/**
 * Locks an order's row until the transaction ends.
 * @throws OrderChanged when it is not any more as it was read
 */
export async function lockOrder(tx: Transaction, order: Order): Promise<void> {
  const { id, status, phase, cancel_requested_at: cancelRequestedAt, settle_as: settleAs } = order;
  const [locked] = await tx.query(lockRow, [id, status, phase, cancelRequestedAt, settleAs]);
  if (!locked) throw new OrderChanged();
}

/** What a name's registration brought, for the domain's row. */
export interface Registered {
  registeredAt: Date;
  expiresAt: Date;
  status: string;
}

/** Something that happened to an order, with everything that is written together with it. */
export interface OrderHappening {
  event: OrderEvent;
  /** When the next step is due; without it the next step follows at once. */
  nextStepAt?: Date | undefined;
  attempt?: AttemptResult | undefined;
  registered?: Registered | undefined;
  reason?: string | undefined;
  /** What a person has to see to: raises the order's alarm, which the next happening without one resolves. */
  operatorNote?: string | undefined;
  confirmAfter?: Date | undefined;
  contactRenewed?: boolean;
  /** It waits because creates at the registry are stopped; if they are not any more, it does not happen. */
  whileCreatesStopped?: boolean;
  /**
   * Why creates at the registry are paused for want of credit, once this is written: who resumes them wakes the order. With how
   * many creates were done when it was heard.
   */
  pauseForCredit?: { reason: string; createsDone: number };
  /** Counts a failure, for the backoff. */
  countsAsFailure?: boolean;
}

/** They begin the next try; whether that one fails too is not known yet, so the backoff goes on growing. */
const resumingEvents = new Set<OrderEvent>(["resumed", "available"]);

/**
 * Lets something happen to an order: new state, history, domain row and next job in one transaction.
 * @throws OrderChanged when the order is not in the state any more in which it was read
 * @throws LeaseLost when this process does not own the registry any more; what a command was answered stands all the same
 */
export async function happen(
  context: OrderContext,
  tx: Transaction,
  order: Order,
  happening: OrderHappening,
): Promise<void> {
  const transition = nextOrderState(orderState(order), happening.event);
  if (!transition) throw new Error(`an order in ${orderState(order)} has no transition for ${happening.event}`);
  const now = context.clock.now();
  const next = orderColumns(transition.to);
  const failures = happening.countsAsFailure ? order.backoff_count + 1 : order.backoff_count;
  const creditWaitSince = happening.event === "out-of-credit" ? (order.waiting_since ?? now) : order.waiting_since;
  const [updated] = await tx.query(updateOrder, [
    ...[order.id, order.status, order.phase, next.status, next.phase, next.verifyCause, now],
    ...[happening.nextStepAt ?? null, resumingEvents.has(happening.event) || happening.countsAsFailure ? failures : 0],
    ...[happening.confirmAfter ?? null, happening.contactRenewed ?? order.contact_renewed, creditWaitSince],
    ...[happening.reason ?? null, happening.operatorNote ?? null, order.cancel_requested_at, order.settle_as],
    // What a command was answered is true whoever writes it down, and comes only once.
    ...[order.next_step_at, happening.attempt ? null : (context.lease?.epoch ?? null)],
  ]);
  if (!updated) await refuse(context, tx);
  if (happening.attempt) {
    const { clTrid, resultCode, svTrid, isClosed } = happening.attempt;
    await tx.query(answerAttempt, [clTrid, resultCode, svTrid, isClosed ? now : null]);
  }
  // Once the registry has said what became of the name, nothing is "possibly sent" any more.
  const isSettled =
    isFinal(next.status) || (order.phase === "verify" && next.phase !== "verify") || happening.event === "still-held";
  if (isSettled) await tx.query(closeAttempts, [order.id, now]);
  if (next.status === "Finished") {
    if (!happening.registered) throw new Error("an order can only finish with its registration's dates");
    const { registeredAt, expiresAt, status } = happening.registered;
    const { domain_name, reseller_id, id, registry_id } = order;
    await tx.query(insertDomain, [domain_name, reseller_id, id, registry_id, registeredAt, expiresAt, status]);
  }
  const note = happening.operatorNote ?? happening.reason ?? null;
  await tx.query(insertHistory, [order.id, now, happening.event, next.status, next.phase, note, order.order_code]);
  await tellOperator(context, tx, order, happening.operatorNote);
  if (happening.nextStepAt) {
    const delayMs = happening.nextStepAt.getTime() - now.getTime();
    await enqueueOrder(tx, { id: order.id, registryId: order.registry_id }, delayMs);
  }
}

/** An order could not be written: it has changed, or its registry has another owner. @throws OrderChanged, LeaseLost */
async function refuse(context: OrderContext, tx: Transaction): Promise<never> {
  await assertLeaseStands(tx, context.lease);
  throw new OrderChanged();
}

/** The alarm stands for as long as what happens to the order needs a person. */
async function tellOperator(context: OrderContext, tx: Transaction, order: Order, note: string | undefined) {
  const alarm = { kind: "order", subject: order.order_code } as const;
  if (note !== undefined) await raiseAlarm(context, { ...alarm, note }, tx);
  else if (order.operator_note !== null) await resolveAlarm(context, alarm, tx);
}

// What came meanwhile must not sleep until then.
const postponeOrder = statement(
  "order-postpone",
  `UPDATE registration_orders SET next_step_at = $3 WHERE id = $1 AND status = $2
     AND cancel_requested_at IS NOT DISTINCT FROM $4 AND settle_as IS NOT DISTINCT FROM $5
     AND date_trunc('milliseconds', next_step_at) IS NOT DISTINCT FROM $6
     AND ($7::int8 IS NULL OR ${isPresentEpoch("registration_orders.registry_id", "$7")}) RETURNING id`,
  { id: "int8" },
);

/**
 * Lets an order look again later; nothing happened to it.
 * @throws OrderChanged when it is not any more as it was read
 * @throws LeaseLost
 */
export async function postpone(context: OrderContext, tx: Transaction, order: Order, delayMs: number): Promise<void> {
  await postponeUntil(context, tx, order, new Date(context.clock.now().getTime() + delayMs));
}

/** The same, at a time. */
export async function postponeUntil(context: OrderContext, tx: Transaction, order: Order, at: Date): Promise<void> {
  const { id, status, cancel_requested_at: cancelRequestedAt, settle_as: settleAs, next_step_at: nextStepAt } = order;
  const values = [id, status, at, cancelRequestedAt, settleAs, nextStepAt, context.lease?.epoch ?? null];
  const [postponed] = await tx.query(postponeOrder, values);
  if (!postponed) await refuse(context, tx);
  await enqueueOrder(tx, { id, registryId: order.registry_id }, at.getTime() - context.clock.now().getTime());
}
