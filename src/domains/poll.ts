/**
 * The registry's message queue (RFC 5730 §2.9.2.3). A message is stored and applied in one transaction and acknowledged
 * after its commit; one that comes again is a no-op. What nobody understands is kept for an operator and acknowledged,
 * so that it never blocks the queue.
 */
import { statement } from "#db/statement.ts";
import { raiseAlarm } from "#domains/alarms.ts";
import { findOrder, happen, type Order, OrderChanged, type OrderHappening, postpone } from "#domains/orders.ts";
import type { RegistrySessions } from "#domains/registry-sessions.ts";
import { isFinal, orderState } from "#domains/states.ts";
import { lookAtPending } from "#domains/verify-step.ts";
import { isSuccess } from "#registry/epp/codes.ts";
import { pollAck } from "#registry/epp/commands/poll-ack.ts";
import { type PollMessage, pollRequest } from "#registry/epp/commands/poll-request.ts";
import type { Lease } from "#registry/epp/pool.ts";

/** Messages taken in one go, so that an endless queue cannot hold a session for ever. */
const messagesPerRunMax = 200;

// RFC 5731 §3.3: the client's transaction id may be missing, the server's may not.
const orderByTrid = statement(
  "order-by-trid",
  `SELECT order_id FROM registration_orders AS o JOIN order_attempts AS attempt ON attempt.order_id = o.id
   WHERE o.registry_id = $1 AND o.domain_name = $2 AND command = 'domain:create'
     AND (cl_trid = $3 OR ($3::text IS NULL AND sv_trid = $4))`,
  { order_id: "int8" },
);

const insertMessage = statement(
  "poll-message-insert",
  `INSERT INTO poll_messages (registry_id, message_id, received_at, order_id, needs_operator, payload)
   VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING RETURNING message_id`,
  { message_id: "text" },
);

const anyAwaiting = statement(
  "orders-awaiting-message",
  `SELECT EXISTS (SELECT FROM registration_orders WHERE registry_id = $1
     AND (status = 'Pending' OR status = 'Processing' AND phase = 'verify')) AS is_awaiting`,
  { is_awaiting: "bool" },
);

/**
 * Whether an order may have a message: then it is worth asking more often. One that lost its answer is among them: it
 * should hear that it was pending and denied before it finds nothing at the registry and creates the name once more.
 */
export async function isMessageAwaited({ context, profile }: RegistrySessions): Promise<boolean> {
  const [row] = await context.database.query(anyAwaiting, [profile.id]);
  return row?.is_awaiting ?? false;
}

/** Reads the queue until it is empty. @throws EppUnavailable, EppUnanswered, EppNotSent: nothing is lost, ask again */
export async function drainPollQueue(sessions: RegistrySessions): Promise<void> {
  using lease = await sessions.pool.acquire("poll", { waitMs: 1_000 });
  for (let taken = 0; taken < messagesPerRunMax; taken++) {
    const response = await lease.request(pollRequest(), { clTRID: sessions.queryClTrid() });
    if (response.code !== 1301 || !response.data) return;
    if (!(await applyMessage(sessions, response.data))) return;
    if (!(await acknowledge(sessions, lease, response.data.id))) return;
  }
}

/** Returns whether the registry has let it go: asking again would bring the same message. */
async function acknowledge(sessions: RegistrySessions, lease: Lease, messageId: string): Promise<boolean> {
  const { code } = await lease.request(pollAck(messageId), { clTRID: sessions.queryClTrid() });
  return isSuccess(code);
}

/** Returns false when the message has to come again, because its order does not know yet that it is pending. */
async function applyMessage(sessions: RegistrySessions, message: PollMessage): Promise<boolean> {
  const { context } = sessions;
  const order = await pendingOrderOf(sessions, message);
  // Its answer 1001 is under way, or is being written.
  if (order && orderState(order) === "Processing (create)") return false;
  const outcome = order?.status === "Pending" ? await pendingOutcome(sessions, order, message) : undefined;
  const needsOperator = !message.panData || !order || contradicts(order, message.panData.paResult);
  const values = [order?.id ?? null, needsOperator, message.payload ?? JSON.stringify(message.panData ?? message.text)];
  let isNew = false;
  try {
    await context.database.transaction(async (tx) => {
      const received = [sessions.profile.id, message.id, context.clock.now()];
      isNew = (await tx.query(insertMessage, [...received, ...values])).length > 0;
      if (!isNew || !order || order.status !== "Pending") return;
      if (outcome) await happen(context, tx, order, outcome);
      else await postpone(context, tx, order, sessions.profile.settleMs);
    });
  } catch (error) {
    if (error instanceof OrderChanged) return false;
    throw error;
  }
  if (isNew && needsOperator) {
    const subject = `${sessions.profile.id}/${message.id}`;
    const note = order ? `it contradicts the end of order ${order.order_code}` : "no order explains it";
    await raiseAlarm(context, { kind: "message", subject, note });
  }
  return true;
}

/** Whether it says something else about an order that has ended; one that still lives is asked about by its steps. */
function contradicts(order: Order, paResult: boolean): boolean {
  return isFinal(order.status) && paResult !== (order.status === "Finished");
}

/**
 * The order that the message is about. The message is itself the proof that the create was answered with 1001: an order
 * that lost this answer, and is about to ask what became of it (row 15), need not ask any more.
 */
async function pendingOrderOf(sessions: RegistrySessions, message: PollMessage): Promise<Order | undefined> {
  const { context, profile } = sessions;
  const order = await orderOf(sessions, message);
  if (order?.phase !== "verify") return order;
  const nextStepAt = new Date(context.clock.now().getTime() + profile.reconcileIntervalMs);
  await context.database
    .transaction((tx) => happen(context, tx, order, { event: "ours-pending", nextStepAt }))
    .catch((error: unknown) => {
      if (!(error instanceof OrderChanged)) throw error;
    });
  return findOrder(context, order.id);
}

async function orderOf({ context, profile }: RegistrySessions, message: PollMessage): Promise<Order | undefined> {
  if (!message.panData) return undefined;
  const { name, paTRID } = message.panData;
  const values = [profile.id, name.toLowerCase(), paTRID.clTRID ?? null, paTRID.svTRID];
  const [attempt] = await context.database.query(orderByTrid, values);
  return attempt && findOrder(context, attempt.order_id);
}

/**
 * Row 20: only `paResult` counts. The dates of an approved name come from its info; `undefined` while that does not show
 * it yet. Then the message is kept, and the order looks again soon: one name must not hold up the queue.
 */
async function pendingOutcome(
  sessions: RegistrySessions,
  order: Order,
  message: PollMessage,
): Promise<OrderHappening | undefined> {
  if (!message.panData?.paResult) return { event: "denied", reason: "the registry did not approve the registration" };
  const seen = await lookAtPending(sessions, order);
  return seen?.event === "ours" ? { event: "approved", registered: seen.registered } : undefined;
}
