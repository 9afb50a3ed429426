/**
 * Whose turn it is. Nothing is sent for a name while another command for it may still be executed, and orders of one name run one
 * at a time. One process owns a registry, so inside it a queue per name suffices; what an earlier owner may have sent is in
 * the database.
 */
import { raiseAlarm } from "#alarms.ts";
import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import type { OrderKind } from "#domains/orders/kind.ts";
import type { Order } from "#domains/orders/order.ts";
import type { RegistrySessions } from "#domains/registry/sessions.ts";
import { createSerialQueue } from "#lib/queues/serial-queue.ts";

/** RFC 5730 §3: result codes of commands that were not executed. From 2400 on, a fault of the server has ended the command. */
const refusals = "BETWEEN 2000 AND 2399";

/** SQL: whether a command of the order `other` may still be executed. */
const mayBeExecuted = `(other.phase IS NOT DISTINCT FROM 'verify'
     OR EXISTS (SELECT FROM attempts WHERE attempts.order_id = other.id AND answered_at IS NULL))`;

/**
 * SQL: whether an order goes ahead although the registry left another one pending. RFC 5731 §2.3 forbids only a second pending status
 * beside the first: that of an update, a renew or a delete. A restore needs pendingDelete, and an answer needs pendingTransfer:
 * whatever was pending here has been decided by then.
 */
const passesPending = (kind: string) => `${kind} IN ('restore', 'transfer-answer')`;

/** SQL: an open order about the registered name. A registration is about a name that is in no portfolio yet. */
const isAboutName = "other.domain_name = $name AND other.ended_at IS NULL AND other.kind <> 'create'";

/** SQL: the pending order that holds a renewal back, unless an alarm says so already. */
const holdingRenewal = `(SELECT order_code FROM orders AS other
   WHERE ${isAboutName} AND other.status = 'Pending'
     AND NOT EXISTS (SELECT FROM alarms WHERE kind = 'renewal-held' AND subject = $name AND resolved_at IS NULL)
   ORDER BY id LIMIT 1)`;

// An order that waits has sent nothing that is unanswered: others may pass it. What somebody asked for goes before what the schedule
// has placed, which waits for orders that renew or end the name: they end it.
const orderTurn = statement(
  "order-turn",
  `SELECT EXISTS (
     SELECT FROM orders AS other
     WHERE ${isAboutName} AND other.id <> $id
       AND (${mayBeExecuted} OR other.status = 'Pending' AND NOT ${passesPending("$kind::text")}
         OR (other.next_step_at <= $now AND other.status <> 'Pending'
           AND (NOT other.is_urgent, other.renewal_id IS NOT NULL, other.id)
             < (NOT $is_urgent::bool, $renewal_id::int8 IS NOT NULL, $id))
         OR ($renewal_id::int8 IS NOT NULL AND other.kind IN ('renew', 'delete', 'restore')))
   ) AS is_held,
     CASE WHEN $kind = 'renew' THEN ${holdingRenewal} END AS holding_renewal`,
  { is_held: "bool", holding_renewal: "text?" },
);

const renewalTurn = statement(
  "renewal-turn",
  `SELECT EXISTS (
     SELECT FROM orders AS other WHERE ${isAboutName}
       AND (${mayBeExecuted} OR other.status = 'Pending' OR other.kind IN ('renew', 'delete', 'restore'))
   ) AS is_held, ${holdingRenewal} AS holding_renewal`,
  { is_held: "bool", holding_renewal: "text?" },
);

/** Whether an order about a name has to wait for another one. */
export async function isHeld(
  { context }: RegistrySessions,
  order: { id: number; domain_name: string; kind: string; is_urgent: boolean; renewal_id: number | null },
): Promise<boolean> {
  const { id, domain_name: name, kind, is_urgent, renewal_id } = order;
  const now = context.clock.now();
  const [row] = await context.database.query(orderTurn, { id, name, kind, is_urgent, renewal_id, now });
  await reportHeldRenewal(context, name, row?.holding_renewal ?? undefined);
  return row?.is_held ?? false;
}

/** Whether a renewal has to wait for an order about its name before it places its own. */
export async function isRenewalHeld(
  { context }: RegistrySessions,
  { domain_name: name }: { domain_name: string },
): Promise<boolean> {
  const [row] = await context.database.query(renewalTurn, { name });
  await reportHeldRenewal(context, name, row?.holding_renewal ?? undefined);
  return row?.is_held ?? false;
}

/** The registry may take weeks to decide, and the name expires meanwhile. The pending order's end resolves the alarm. */
async function reportHeldRenewal(
  context: RegistrySessions["context"],
  name: string,
  holding: string | undefined,
): Promise<void> {
  if (holding === undefined) return;
  const note = `its renewal waits for ${holding}, which the registry has left pending: ask it to decide; orders settle ${holding} ends it by hand`;
  await raiseAlarm(context, { kind: "renewal-held", subject: name, note });
}

// Beside a command without an answer, also a row that was written since: what an earlier look has shown may be outdated.
const lookHold = statement(
  "look-hold",
  `SELECT EXISTS (
     SELECT FROM orders AS other WHERE other.domain_name = $name AND other.kind <> 'create'
       AND (other.updated_at >= $since OR (other.ended_at IS NULL AND ${mayBeExecuted}))
   ) OR EXISTS (
     SELECT FROM renewals WHERE domain_name = $name AND updated_at >= $since) AS is_held`,
  { is_held: "bool" },
);

/** Whether a look since this time may not be taken over, because of a command about the name. */
export async function isLookHeld(tx: Pick<Transaction, "query">, name: string, since: Date): Promise<boolean> {
  const [row] = await tx.query(lookHold, { name, since });
  return row?.is_held ?? false;
}

const changedByOrder = statement(
  "name-changed-by-order",
  `SELECT EXISTS (
     SELECT FROM orders AS other JOIN attempts ON attempts.order_id = other.id
     WHERE ${isAboutName} AND (result_code ${refusals}) IS NOT TRUE
   ) AS is_changed`,
  { is_changed: "bool" },
);

/**
 * Whether an open order about the name has sent a command that was not refused: how the name differs may be its work, even between
 * two of its commands.
 */
export async function isChangedByOrder(tx: Pick<Transaction, "query">, name: string): Promise<boolean> {
  const [row] = await tx.query(changedByOrder, { name });
  return row?.is_changed ?? false;
}

/** Runs a step while no other step of the name runs. */
export async function onName<T>({ names }: RegistrySessions, name: string, step: () => Promise<T>): Promise<T> {
  const entry = names.get(name) ?? { queue: createSerialQueue(), users: 0 };
  names.set(name, entry);
  entry.users += 1;
  try {
    return await entry.queue(step);
  } finally {
    entry.users -= 1;
    if (entry.users === 0) names.delete(name);
  }
}

const newerOrders = statement(
  "orders-newer",
  `SELECT order_code, input, ended_at IS NOT NULL AS is_finished FROM orders
   WHERE domain_name = $name AND kind = $kind AND id > $id AND (status = 'Finished' OR ended_at IS NULL AND $counts_open::bool)
   ORDER BY id`,
  { order_code: "text", input: "jsonb", is_finished: "bool" },
);

/**
 * The newest order counts. An order whose command was refused for now, or was lost and not executed, lets others pass, and tries
 * again later: by then a newer one of its kind may have set what it sets.
 *
 * Takes from an order's input the fields that newer orders of its kind have set. The end of a newer one changes the row's version,
 * so that nothing is sent if it comes after this query.
 * @returns the code of the newer order that leaves nothing to send
 */
export async function yieldToNewer(
  { context }: RegistrySessions,
  order: Order,
  { isUrgent, isEachDone, isByField }: OrderKind,
): Promise<string | undefined> {
  // One that has sent nothing was replaced when the newer one was placed, unless its kind is never replaced.
  if (isUrgent || (order.attempts.length === 0 && !isEachDone)) return undefined;
  const { id, domain_name: name, kind } = order;
  const newer = await context.database.query(newerOrders, { id, name, kind, counts_open: !isEachDone });
  const last = newer.at(-1)?.order_code;
  if (!isByField || last === undefined) return last;
  const wanted = order.input as object;
  const set = Object.assign({}, ...newer.map(({ input }) => input));
  // An open one waits while a command of this one may be executed, so what was sent and what is proved have the same fields.
  const finished = newer.filter(({ is_finished }) => is_finished);
  order.input = without(wanted, Object.assign({}, ...finished.map(({ input }) => input)));
  return Object.keys(without(wanted, set)).length === 0 ? last : undefined;
}

const without = (input: object, fields: object) =>
  Object.fromEntries(Object.entries(input).filter(([field]) => !(field in fields)));
