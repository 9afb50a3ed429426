/**
 * The registry's message queue (RFC 5730 §2.9.2.3). A message is stored and applied in one transaction and acknowledged after the
 * commit; a repeated one is a no-op. A message that no order explains is kept for an operator and acknowledged, so that it
 * never blocks the queue.
 */
import { raiseAlarm } from "#alarms.ts";
import { statement } from "#db/statement.ts";
import { ChangeConflict } from "#domains/changes/change.ts";
import { later } from "#domains/changes/proof.ts";
import { write } from "#domains/changes/write.ts";
import { wakeChangeOf } from "#domains/managing/messages.ts";
import { applyCancelRequest } from "#domains/orders/cancel-step.ts";
import { lookAtPending } from "#domains/orders/kind-create.ts";
import { findOrder, type Order, type OrderOutcome, orderTable } from "#domains/orders/orders.ts";
import { isFinal, orderState } from "#domains/orders/states.ts";
import type { RegistrySessions } from "#domains/registry/sessions.ts";
import { readTransferMessage } from "#domains/registry/transfer-messages.ts";
import { isSuccess } from "#registry/epp/codes.ts";
import { pollAck } from "#registry/epp/commands/session/poll-ack.ts";
import { type PollMessage, pollRequest } from "#registry/epp/commands/session/poll-request.ts";
import type { Lease } from "#registry/epp/pool/pool.ts";

/** How many messages one run reads, so that an endless queue cannot hold a session forever. */
const messagesPerRunMax = 200;

// RFC 5731 §3.3: the client's transaction id may be missing, the server's may not.
const orderByTrid = statement(
  "order-by-trid",
  `SELECT o.id AS order_id, command, NOT EXISTS (SELECT FROM attempts AS later
     WHERE later.order_id = o.id AND later.command = attempt.command AND later.number > attempt.number) AS is_latest
   FROM registration_orders AS o JOIN attempts AS attempt ON attempt.order_id = o.id
   WHERE o.registry_id = $registry_id AND o.domain_name = $domain_name AND command IN ('domain:create', 'domain:delete')
     AND (cl_trid = $cl_trid OR ($cl_trid::text IS NULL AND sv_trid = $sv_trid))`,
  { order_id: "int8", command: "text", is_latest: "bool" },
);

const wasDeleted = statement(
  "order-deleted-its-name",
  "SELECT EXISTS (SELECT FROM order_history WHERE order_id = $order_id AND event = 'deleted') AS was_deleted",
  { was_deleted: "bool" },
);

/** 1300: no messages (RFC 5730 §2.9.2.3). A registry that does not know the command (2101) has none. */
const emptyCodes = [1300, 2101, 2307];

const insertMessage = statement(
  "poll-message-insert",
  `INSERT INTO poll_messages (registry_id, message_id, received_at, order_id, needs_operator, payload)
   VALUES ($registry_id, $message_id, $now, $order_id, $needs_operator, $payload)
   ON CONFLICT DO NOTHING RETURNING message_id`,
  { message_id: "text" },
);

const anyAwaiting = statement(
  "orders-awaiting-message",
  `SELECT EXISTS (SELECT FROM registration_orders WHERE registry_id = $registry_id
     AND (status = 'Pending' OR status = 'Processing' AND phase = 'verify')) AS is_awaiting`,
  { is_awaiting: "bool" },
);

/**
 * Whether an order may have a message; then the queue is read more often. This includes an order whose answer was lost: it must
 * learn that its create was pending and denied before it finds nothing at the registry and creates the name again.
 */
export async function isMessageAwaited({ context, profile }: RegistrySessions): Promise<boolean> {
  const [row] = await context.database.query(anyAwaiting, { registry_id: profile.id });
  return row?.is_awaiting ?? false;
}

const reading = new WeakMap<RegistrySessions, { now: Promise<unknown>; next: Promise<boolean> | undefined }>();

/**
 * Reads the queue until it is empty. One run at a time; calls during a run share the next one, because a message that was queued
 * before such a call may have come too late for the current run.
 * @returns whether it was read to its end
 * @throws EppUnavailable, EppUnanswered, EppNotSent: nothing is lost, try again
 */
export function drainPollQueue(sessions: RegistrySessions): Promise<boolean> {
  const runs = reading.get(sessions) ?? { now: Promise.resolve(), next: undefined };
  reading.set(sessions, runs);
  runs.next ??= runs.now.then(() => {
    const run = drain(sessions);
    runs.now = run.catch(() => {});
    runs.next = undefined;
    return run;
  });
  return runs.next;
}

async function drain(sessions: RegistrySessions): Promise<boolean> {
  // As long as a create waits: with many creates in the queue, a shorter wait would never get a session.
  using lease = await sessions.pool.acquire("poll", { waitMs: sessions.profile.transformTimeoutMs });
  for (let taken = 0; taken < messagesPerRunMax; taken++) {
    const response = await lease.request(pollRequest(), { clTRID: sessions.queryClTrid() });
    if (response.code !== 1301 || !response.data) return emptyCodes.includes(response.code);
    if (!(await applyMessage(sessions, response.data))) return false;
    if (!(await acknowledge(sessions, lease, response.data.id))) return false;
  }
  return false;
}

/** Returns whether the registry removed the message; otherwise the next request would return it again. */
async function acknowledge(sessions: RegistrySessions, lease: Lease, messageId: string): Promise<boolean> {
  const { code } = await lease.request(pollAck(messageId), { clTRID: sessions.queryClTrid() });
  return isSuccess(code);
}

/** Returns false when the message must come again, because its order is not written as pending yet. */
async function applyMessage(sessions: RegistrySessions, message: PollMessage): Promise<boolean> {
  const { context, profile } = sessions;
  const about = await findSubject(sessions, message);
  const order = about?.order;
  // The answer 1001 has not been written yet.
  if (about?.isLatest && orderState(about.order) === "Processing (create)") return false;
  const decision = about && (await decide(sessions, about, message));
  const applyTransfer = await readTransferMessage(sessions, message.trnData);
  const doubt = applyTransfer ? undefined : (decision?.doubt ?? (await findDoubt(sessions, about, message)));
  const values = {
    registry_id: profile.id,
    message_id: message.id,
    now: context.clock.now(),
    order_id: order?.id ?? null,
    needs_operator: doubt !== undefined,
    payload: message.payload ?? JSON.stringify(message.panData ?? message.text),
  };
  try {
    await context.database.transaction(async (tx) => {
      if ((await tx.query(insertMessage, values)).length === 0) return;
      if (doubt) {
        await raiseAlarm(context, { kind: "message", subject: `${profile.id}/${message.id}`, note: doubt }, tx);
      }
      await applyTransfer?.(tx);
      // An order that waits for its delete looks at the name soon; a message about its create must not delay that.
      const isDeleting = order?.phase === "cancel" && about?.command === "domain:delete";
      if (order?.status !== "Pending" && !isDeleting) return;
      const outcome = decision?.outcome ?? { nextStepAt: later(sessions, profile.settleMs) };
      await write(context, orderTable, order, outcome, tx);
    });
  } catch (error) {
    if (error instanceof ChangeConflict) return false;
    throw error;
  }
  return true;
}

/** The order, and the command of it, that a message is about. */
interface Subject {
  order: Order;
  command: string;
  /** False when the command was lost and repeated: the message says nothing about the repeated one. */
  isLatest: boolean;
}

/** Why an operator must read the message, if one must. The steps of a live order ask the registry themselves. */
async function findDoubt(
  sessions: RegistrySessions,
  about: Subject | undefined,
  { panData }: PollMessage,
): Promise<string | undefined> {
  if (panData && !about && (await wakeChangeOf(sessions, panData))) return undefined;
  if (!panData || !about) return "no order explains it";
  const { order, command, isLatest } = about;
  if (!isFinal(order.status) || !(isLatest || panData.paResult)) return undefined;
  const said = `${command.replace("domain:", "")} ${panData.paResult ? "approved" : "denied"}`;
  const contradiction = `it says "${said}" of order ${order.order_code}, which ended as ${order.status}`;
  if (command === "domain:delete") {
    return panData.paResult === (order.status === "Cancelled") ? undefined : contradiction;
  }
  if (panData.paResult === (order.status === "Finished")) return undefined;
  // Approved, and then deleted because the order was cancelled: both are true.
  const [row] = await sessions.context.database.query(wasDeleted, { order_id: order.id });
  return panData.paResult && row?.was_deleted ? undefined : contradiction;
}

/**
 * The order that the message is about. A message about a create proves that it was answered with 1001: an order that lost this
 * answer becomes pending. One that has the answer 1000 waits for no message.
 */
async function findSubject(sessions: RegistrySessions, message: PollMessage): Promise<Subject | undefined> {
  const { context, profile } = sessions;
  const found = await subjectOf(sessions, message);
  if (found?.order.phase !== "verify" || found.order.verify_cause === "created" || !found.isLatest) return found;
  const { order } = found;
  const nextStepAt = later(sessions, profile.reconcileIntervalMs);
  await write(context, orderTable, order, { event: "ours-pending", nextStepAt }).catch((error: unknown) => {
    if (!(error instanceof ChangeConflict)) throw error;
  });
  const now = await findOrder(context, order.id);
  return now && { ...found, order: now };
}

async function subjectOf({ context, profile }: RegistrySessions, message: PollMessage): Promise<Subject | undefined> {
  if (!message.panData) return undefined;
  const { name, paTRID } = message.panData;
  const [attempt] = await context.database.query(orderByTrid, {
    registry_id: profile.id,
    domain_name: name.toLowerCase(),
    cl_trid: paTRID.clTRID ?? null,
    sv_trid: paTRID.svTRID,
  });
  const order = attempt && (await findOrder(context, attempt.order_id));
  return order && { order, command: attempt.command, isLatest: attempt.is_latest };
}

/** What a message decides about a pending create, and why an operator must read it nevertheless. */
interface Decision {
  outcome?: OrderOutcome;
  doubt?: string;
}

/**
 * Of a message only `paResult` counts, and only if `<info>` agrees. If it does not, the message is stored and the order asks again
 * soon, so that one name does not block the queue; what `<info>` shows then decides.
 */
async function decide(
  sessions: RegistrySessions,
  { order, command, isLatest }: Subject,
  { panData }: PollMessage,
): Promise<Decision> {
  // The order's own step finds out what a decided delete or an earlier create means.
  if (order.status !== "Pending" || command !== "domain:create" || !isLatest) return {};
  const seen = await lookAtPending(sessions, order);
  const isHeld = seen?.event === "ours";
  if (panData?.paResult) {
    if (!isHeld) return {};
    return { outcome: applyCancelRequest(sessions, order, { event: "approved", registered: seen.registered }) };
  }
  // With `Errors` the name could be ordered again while the reseller, or we, pay for it.
  if (isHeld)
    return { doubt: `it says "create denied" of order ${order.order_code}, but the registry holds the name for us` };
  if (!seen) return {};
  return { outcome: { event: "denied", reason: "the registry did not approve the registration" } };
}
