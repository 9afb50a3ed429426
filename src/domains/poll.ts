/**
 * The registry's message queue (RFC 5730 §2.9.2.3). A message is stored and applied in one transaction and acknowledged
 * after its commit; one that comes again is a no-op. What nobody understands is kept for an operator and acknowledged,
 * so that it never blocks the queue.
 */
import { statement } from "#db/statement.ts";
import { findOrder, happen, type Order, OrderChanged, type OrderHappening } from "#domains/orders.ts";
import type { RegistrySessions } from "#domains/registry-sessions.ts";
import { isFinal } from "#domains/states.ts";
import { lookAtPending } from "#domains/verify-step.ts";
import { pollAck } from "#registry/epp/commands/poll-ack.ts";
import { type PollMessage, pollRequest } from "#registry/epp/commands/poll-request.ts";
import type { Lease } from "#registry/epp/pool.ts";

/** Messages taken in one go, so that an endless queue cannot hold a session for ever. */
const messagesPerRunMax = 200;

const orderByClTrid = statement(
  "order-by-cltrid",
  "SELECT order_id FROM order_attempts WHERE cl_trid = $1 AND command = 'domain:create'",
  { order_id: "int8" },
);

const insertMessage = statement(
  "poll-message-insert",
  `INSERT INTO poll_messages (registry_id, message_id, received_at, order_id, needs_operator, payload)
   VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING RETURNING message_id`,
  { message_id: "text" },
);

const anyPending = statement(
  "orders-pending",
  "SELECT EXISTS (SELECT FROM registration_orders WHERE registry_id = $1 AND status = 'Pending') AS is_pending",
  { is_pending: "bool" },
);

/** Whether an order waits for a message: then it is worth asking more often. */
export async function hasPendingOrders({ context, profile }: RegistrySessions): Promise<boolean> {
  const [row] = await context.database.query(anyPending, [profile.id]);
  return row?.is_pending ?? false;
}

/** Reads the queue until it is empty. @throws EppUnavailable, EppUnanswered, EppNotSent: nothing is lost, ask again */
export async function drainPollQueue(sessions: RegistrySessions): Promise<void> {
  using lease = await sessions.pool.acquire("poll", { waitMs: 1_000 });
  for (let taken = 0; taken < messagesPerRunMax; taken++) {
    const response = await lease.request(pollRequest(), { clTRID: sessions.queryClTrid() });
    if (response.code !== 1301 || !response.data) return;
    if (!(await applyMessage(sessions, response.data))) return;
    await acknowledge(sessions, lease, response.data.id);
  }
}

async function acknowledge(sessions: RegistrySessions, lease: Lease, messageId: string): Promise<void> {
  await lease.request(pollAck(messageId), { clTRID: sessions.queryClTrid() });
}

/** Returns false when the message has to come again, because what it means cannot be told now. */
async function applyMessage(sessions: RegistrySessions, message: PollMessage): Promise<boolean> {
  const order = await orderOf(sessions, message);
  const isForPending = order?.status === "Pending";
  const happening = order && isForPending ? await pendingOutcome(sessions, order, message) : undefined;
  if (isForPending && !happening) return false;
  const isLate = order !== undefined && isFinal(order.status);
  const needsOperator =
    !message.panData || !order || (isLate && message.panData.paResult !== (order.status === "Finished"));
  const { context, profile } = sessions;
  try {
    await context.database.transaction(async (tx) => {
      const now = context.clock.now();
      const payload = message.payload ?? JSON.stringify(message.panData ?? message.text);
      const values = [profile.id, message.id, now, order?.id ?? null, needsOperator, payload];
      const [isNew] = await tx.query(insertMessage, values);
      if (isNew && order && happening) await happen(context, tx, order, happening);
    });
  } catch (error) {
    if (error instanceof OrderChanged) return false;
    throw error;
  }
  if (needsOperator) {
    const fields = { alarm: "poll-message", registry: profile.id, messageId: message.id, order: order?.order_code };
    context.log.error(fields, "a registry's message needs an operator");
  }
  return true;
}

async function orderOf({ context }: RegistrySessions, message: PollMessage): Promise<Order | undefined> {
  const clTrid = message.panData?.paTRID.clTRID;
  if (clTrid === undefined) return undefined;
  const [attempt] = await context.database.query(orderByClTrid, [clTrid]);
  const order = attempt && (await findOrder(context, attempt.order_id));
  return order?.domain_name === message.panData?.name.toLowerCase() ? order : undefined;
}

/** Row 20: only `paResult` counts. The dates of an approved name come from its info. */
async function pendingOutcome(
  sessions: RegistrySessions,
  order: Order,
  message: PollMessage,
): Promise<OrderHappening | undefined> {
  if (!message.panData?.paResult) return { event: "denied", reason: "the registry did not approve the registration" };
  const seen = await lookAtPending(sessions, order);
  return seen?.event === "ours" ? { event: "approved", registered: seen.registered } : undefined;
}
