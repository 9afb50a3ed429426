/**
 * The registry's message queue (RFC 5730 §2.9.2.3). A message is stored and applied in one transaction and acknowledged
 * after its commit; one that comes again is a no-op. What nobody understands is kept for an operator and acknowledged,
 * so that it never blocks the queue.
 */
import { raiseAlarm } from "#alarms.ts";
import { statement } from "#db/statement.ts";
import { ChangeConflict } from "#domains/changes/change.ts";
import { later } from "#domains/changes/proof.ts";
import { write, writeIn } from "#domains/changes/write.ts";
import { applyCancelRequest } from "#domains/orders/cancel-step.ts";
import { lookAtPending } from "#domains/orders/kind-create.ts";
import { findOrder, type Order, type OrderOutcome, orderTable } from "#domains/orders/orders.ts";
import { isFinal, orderState } from "#domains/orders/states.ts";
import type { RegistrySessions } from "#domains/registry/sessions.ts";
import { wakeRenewalOf } from "#domains/renewals/messages.ts";
import { isSuccess } from "#registry/epp/codes.ts";
import { pollAck } from "#registry/epp/commands/session/poll-ack.ts";
import { type PollMessage, pollRequest } from "#registry/epp/commands/session/poll-request.ts";
import type { Lease } from "#registry/epp/pool/pool.ts";

/** Messages taken in one go, so that an endless queue cannot hold a session for ever. */
const messagesPerRunMax = 200;

// RFC 5731 §3.3: the client's transaction id may be missing, the server's may not.
const orderByTrid = statement(
  "order-by-trid",
  `SELECT o.id AS order_id, command, NOT EXISTS (SELECT FROM attempts AS later
     WHERE later.order_id = o.id AND later.command = attempt.command AND later.number > attempt.number) AS is_latest
   FROM registration_orders AS o JOIN attempts AS attempt ON attempt.order_id = o.id
   WHERE o.registry_id = $1 AND o.domain_name = $2 AND command IN ('domain:create', 'domain:delete')
     AND (cl_trid = $3 OR ($3::text IS NULL AND sv_trid = $4))`,
  { order_id: "int8", command: "text", is_latest: "bool" },
);

const wasDeleted = statement(
  "order-deleted-its-name",
  "SELECT EXISTS (SELECT FROM order_history WHERE order_id = $1 AND event = 'deleted') AS was_deleted",
  { was_deleted: "bool" },
);

/** 1300: no messages (RFC 5730 §2.9.2.3). A registry that does not know the command (2101) has none. */
const emptyCodes = [1300, 2101, 2307];

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

const reading = new WeakMap<RegistrySessions, { now: Promise<unknown>; next: Promise<boolean> | undefined }>();

/**
 * Reads the queue until it is empty. One reads at a time; those who ask meanwhile share the run after it, because a
 * message that was put there before they asked may have come too late for the one under way.
 * @returns whether it was read to its end
 * @throws EppUnavailable, EppUnanswered, EppNotSent: nothing is lost, ask again
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
  // Behind creates without end, each of which waits so long: who gave up sooner and came again would never have their turn.
  using lease = await sessions.pool.acquire("poll", { waitMs: sessions.profile.transformTimeoutMs });
  for (let taken = 0; taken < messagesPerRunMax; taken++) {
    const response = await lease.request(pollRequest(), { clTRID: sessions.queryClTrid() });
    if (response.code !== 1301 || !response.data) return emptyCodes.includes(response.code);
    if (!(await applyMessage(sessions, response.data))) return false;
    if (!(await acknowledge(sessions, lease, response.data.id))) return false;
  }
  return false;
}

/** Returns whether the registry has let it go: asking again would bring the same message. */
async function acknowledge(sessions: RegistrySessions, lease: Lease, messageId: string): Promise<boolean> {
  const { code } = await lease.request(pollAck(messageId), { clTRID: sessions.queryClTrid() });
  return isSuccess(code);
}

/** Returns false when the message has to come again, because its order does not know yet that it is pending. */
async function applyMessage(sessions: RegistrySessions, message: PollMessage): Promise<boolean> {
  const { context, profile } = sessions;
  const about = await findSubject(sessions, message);
  const order = about?.order;
  // Its answer 1001 is under way, or is being written.
  if (about?.isLatest && orderState(about.order) === "Processing (create)") return false;
  const decision = about && (await decide(sessions, about, message));
  const doubt = decision?.doubt ?? (await findDoubt(sessions, about, message));
  const values = [
    ...[order?.id ?? null, doubt !== undefined],
    message.payload ?? JSON.stringify(message.panData ?? message.text),
  ];
  try {
    await context.database.transaction(async (tx) => {
      const received = [profile.id, message.id, context.clock.now()];
      if ((await tx.query(insertMessage, [...received, ...values])).length === 0) return;
      if (doubt) {
        await raiseAlarm(context, { kind: "message", subject: `${profile.id}/${message.id}`, note: doubt }, tx);
      }
      // One that waits for its delete looks at the name soon; what is said of its create would only put that off.
      const isDeleting = order?.phase === "cancel" && about?.command === "domain:delete";
      if (order?.status !== "Pending" && !isDeleting) return;
      const outcome = decision?.outcome ?? { nextStepAt: later(sessions, profile.settleMs) };
      await writeIn(context, tx, orderTable, order, outcome);
    });
  } catch (error) {
    if (error instanceof ChangeConflict) return false;
    throw error;
  }
  return true;
}

/** An order, and which of its commands a message is about. */
interface Subject {
  order: Order;
  command: string;
  /** False when another one followed, because this one was lost: what is said of it says nothing of that one. */
  isLatest: boolean;
}

/** Why a person has to read the message, if one has to. An order that still lives is asked about by its own steps. */
async function findDoubt(
  sessions: RegistrySessions,
  about: Subject | undefined,
  { panData }: PollMessage,
): Promise<string | undefined> {
  if (panData && !about && (await wakeRenewalOf(sessions, panData))) return undefined;
  if (!panData || !about) return "no order explains it";
  const { order, command, isLatest } = about;
  if (!isFinal(order.status) || !(isLatest || panData.paResult)) return undefined;
  const said = `${command.replace("domain:", "")} ${panData.paResult ? "approved" : "denied"}`;
  const contradiction = `it says "${said}" of order ${order.order_code}, which ended as ${order.status}`;
  if (command === "domain:delete") {
    return panData.paResult === (order.status === "Cancelled") ? undefined : contradiction;
  }
  if (panData.paResult === (order.status === "Finished")) return undefined;
  // Approved, and then deleted because it was not wanted any more: both are true.
  const [row] = await sessions.context.database.query(wasDeleted, [order.id]);
  return panData.paResult && row?.was_deleted ? undefined : contradiction;
}

/**
 * The order that the message is about. A message about a create is itself the proof that it was answered with 1001: an
 * order that lost this answer, and is about to ask what became of it (row 15), need not ask any more.
 */
async function findSubject(sessions: RegistrySessions, message: PollMessage): Promise<Subject | undefined> {
  const { context, profile } = sessions;
  const found = await subjectOf(sessions, message);
  if (found?.order.phase !== "verify" || !found.isLatest) return found;
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
  const values = [profile.id, name.toLowerCase(), paTRID.clTRID ?? null, paTRID.svTRID];
  const [attempt] = await context.database.query(orderByTrid, values);
  const order = attempt && (await findOrder(context, attempt.order_id));
  return order && { order, command: attempt.command, isLatest: attempt.is_latest };
}

/** What a message decides about a pending create, and why a person has to read it all the same. */
interface Decision {
  outcome?: OrderOutcome;
  doubt?: string;
}

/**
 * Row 20: of a message only `paResult` counts, and that only where info agrees. While it does not, the message is kept, and
 * the order looks again soon: one name must not hold up the queue. What info shows then decides (row 21).
 */
async function decide(
  sessions: RegistrySessions,
  { order, command, isLatest }: Subject,
  { panData }: PollMessage,
): Promise<Decision> {
  // What a decided delete means, or an earlier create, the order's own step finds out.
  if (order.status !== "Pending" || command !== "domain:create" || !isLatest) return {};
  const seen = await lookAtPending(sessions, order);
  const isHeld = seen?.event === "ours";
  if (panData?.paResult) {
    if (!isHeld) return {};
    return { outcome: applyCancelRequest(sessions, order, { event: "approved", registered: seen.registered }) };
  }
  // Errors would free the name's order while the reseller, or we, pay for the name.
  if (isHeld)
    return { doubt: `it says "create denied" of order ${order.order_code}, but the registry holds the name for us` };
  if (!seen) return {};
  return { outcome: { event: "denied", reason: "the registry did not approve the registration" } };
}
