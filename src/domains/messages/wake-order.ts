/**
 * Messages about commands that a registry has left pending (`panData`, RFC 5731 §3.3). A message wakes the order that it is about, and
 * `<info>` decides.
 */
import { statement } from "#db/statement.ts";
import { storedMessageId } from "#domains/messages/kept-texts.ts";
import { kindNames } from "#domains/orders/order.ts";
import { orderPhases, orderStatuses } from "#domains/orders/states.ts";
import { type RegistrySessions, wakeAll } from "#domains/registry/sessions.ts";
import type { PendingActionData } from "#registry/epp/commands/session/poll-request.ts";

// RFC 5731 §3.3: the client's transaction id may be missing, the server's may not. While an answer may still come, nothing is
// believed earlier because of a message. A registration also notes what was said: a create that was denied must not be sent again.
const wakeByTrid = statement(
  "order-wake-by-trid",
  `WITH meant AS MATERIALIZED (
     SELECT o.id, order_code, kind, status, phase, command, answered_at IS NULL AS is_unanswered,
       NOT EXISTS (SELECT FROM attempts AS later WHERE later.order_id = o.id AND later.command = attempt.command
         AND later.number > attempt.number) AS is_latest,
       EXISTS (SELECT FROM order_history WHERE order_id = o.id AND event = 'deleted') AS was_deleted
     FROM attempts AS attempt JOIN orders AS o ON o.id = attempt.order_id
     WHERE registry_id = $registry_id AND domain_name = $domain_name
       AND (cl_trid = $cl_trid OR ($cl_trid::text IS NULL AND sv_trid = $sv_trid)) LIMIT 1),
   woken AS (
     UPDATE orders AS o SET
       next_step_at = CASE WHEN o.phase IS NOT DISTINCT FROM 'verify' AND is_unanswered THEN o.next_step_at ELSE $now END,
       found = CASE WHEN o.kind = 'create' AND command = 'domain:create' AND is_latest
         THEN o.found || jsonb_build_object('decision', $decision::jsonb) ELSE o.found END
     FROM meant WHERE o.id = meant.id AND (o.status = 'Pending' OR o.kind = 'create' AND o.phase = 'verify')
     RETURNING o.lane, o.registry_id)
   SELECT id, order_code, kind, status, phase, command, is_unanswered, is_latest, was_deleted, (${wakeAll("woken")}) AS notified
   FROM meant`,
  {
    id: "int8?",
    order_code: "text?",
    kind: [...kindNames, null],
    status: [...orderStatuses, null],
    phase: [...orderPhases, null],
    command: "text?",
    is_unanswered: "bool?",
    is_latest: "bool?",
    was_deleted: "bool?",
    notified: "int8",
  },
);
type Meant = NonNullable<(typeof wakeByTrid)["row"]>;

export type Woken =
  /** The answer that has left the command pending is not written yet: the message must come again. */
  { is: "too-early" } | { is: "woken"; orderId: number; doubt?: string | undefined };

/** @returns nothing when the message is about no order here */
export async function wakeOrderOf(
  { context, profile }: RegistrySessions,
  messageId: string,
  { name, paTRID, paResult: isApproved }: PendingActionData,
): Promise<Woken | undefined> {
  const now = context.clock.now();
  const [meant] = await context.database.query(wakeByTrid, {
    registry_id: profile.id,
    domain_name: name.toLowerCase(),
    cl_trid: paTRID.clTRID ?? null,
    sv_trid: paTRID.svTRID,
    decision: { is: isApproved ? "approved" : "denied", at: now.toISOString(), message_id: storedMessageId(messageId) },
    now,
  });
  if (!meant || meant.id === null) return undefined;
  if (meant.kind === "create" && meant.phase === "send" && meant.is_unanswered) return { is: "too-early" };
  return { is: "woken", orderId: meant.id, doubt: findDoubt(meant, isApproved) };
}

/** Why the message contradicts the end of its order, if it does. */
function findDoubt({ order_code, kind, status, command, ...meant }: Meant, isApproved: boolean): string | undefined {
  const said = `${command?.replace("domain:", "")} ${isApproved ? "approved" : "denied"}`;
  const doubt = `it says "${said}" of order ${order_code}, which ended as ${status}`;
  const isOver =
    status === "Errors" || status === "Finished" || status === "FailedValidation" || status === "Cancelled";
  if (!isOver) return undefined;
  // The registry may still hold the name for us.
  if (kind === "delete") return !isApproved && status === "Finished" ? doubt : undefined;
  if (kind !== "create") return undefined;
  if (command === "domain:delete") return isApproved === (status === "Cancelled") ? undefined : doubt;
  // A create that was lost and repeated: the message says nothing about the repeated one.
  if (!isApproved && !meant.is_latest) return undefined;
  // Approved, and then deleted because the order was cancelled: both are true.
  const isExplained = isApproved === (status === "Finished") || (isApproved && meant.was_deleted);
  return isExplained ? undefined : doubt;
}
