/** Messages about commands that a registry has left pending (`panData`, RFC 5731 §3.3): which of our orders they decide. */
import { statement } from "#db/statement.ts";
import { lookAtPending } from "#domains/kinds/create.ts";
import { wakeChangeOf } from "#domains/messages/wake-order.ts";
import { applyCancelRequest } from "#domains/orders/cancel-step.ts";
import { ChangeConflict } from "#domains/orders/change.ts";
import { findOrder, type Order, type OrderOutcome, orderTable } from "#domains/orders/orders.ts";
import { isFinal } from "#domains/orders/states.ts";
import { write } from "#domains/orders/write.ts";
import { later } from "#domains/registry/ask.ts";
import type { RegistrySessions } from "#domains/registry/sessions.ts";
import type { PollMessage } from "#registry/epp/commands/session/poll-request.ts";

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

/** The order, and the command of it, that a message is about. */
export interface Subject {
  order: Order;
  command: string;
  /** False when the command was lost and repeated: the message says nothing about the repeated one. */
  isLatest: boolean;
}

/** Why the message contradicts its order, if it does. The steps of a live order ask the registry themselves. */
export async function findDoubt(
  sessions: RegistrySessions,
  about: Subject,
  { panData }: PollMessage,
): Promise<string | undefined> {
  if (!panData) return undefined;
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
export async function findSubject(sessions: RegistrySessions, message: PollMessage): Promise<Subject | undefined> {
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
export interface Decision {
  outcome?: OrderOutcome;
  doubt?: string;
}

/**
 * Of a message only `paResult` counts, and only if `<info>` agrees. If it does not, the message is stored and the order asks again
 * soon, so that one name does not block the queue; what `<info>` shows then decides.
 */
export async function decide(
  sessions: RegistrySessions,
  { order, command, isLatest }: Subject,
  { panData }: PollMessage,
): Promise<Decision> {
  // The order's own step finds out what a decided delete or an earlier create means.
  if (order.status !== "Pending" || command !== "domain:create" || !isLatest) return {};
  const seen = await lookAtPending(sessions, order, panData?.paResult);
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

/** Makes the order due that the message is about. @returns whether there is one */
export async function wakeSubject(sessions: RegistrySessions, { panData }: PollMessage): Promise<boolean> {
  return panData !== undefined && (await wakeChangeOf(sessions, panData));
}
