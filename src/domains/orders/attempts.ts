/** The commands of orders: each is written down before it is sent, and stays open until it is known what it did. */
import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import { type Order, OrderChanged } from "#domains/orders/orders.ts";
import { assertLeaseStands, mayBegin } from "#domains/registry/owner-lease.ts";
import type { OwnerContext } from "#domains/registry/sessions.ts";

// One statement, so that a process that is stopped in the middle of it cannot commit it when it goes on, much later. It inserts
// nothing while a create or delete of the order is unanswered, and nothing when another owner has inserted the same number
// meanwhile: not even two owners at once can have two under way.
const insertAttempt = statement(
  "attempt-insert",
  `WITH locked AS (
     SELECT registry_id FROM registration_orders WHERE id = $1 AND status = $5 AND phase IS NOT DISTINCT FROM $6
       AND cancel_requested_at IS NOT DISTINCT FROM $7 AND settle_as IS NOT DISTINCT FROM $8 FOR UPDATE)
   INSERT INTO order_attempts (cl_trid, order_id, number, command, committed_at, epoch)
   SELECT $2 || '-' || next.number, $1, next.number, $3, $4, $9::int8
   FROM locked, (
     SELECT coalesce(max(number), 0) + 1 AS number,
       count(*) FILTER (WHERE command IN ('domain:create', 'domain:delete') AND answered_at IS NULL) AS unanswered
     FROM order_attempts WHERE order_id = $1) AS next
   WHERE next.unanswered = 0 AND ${mayBegin("locked.registry_id", "$9::int8")}
   ON CONFLICT DO NOTHING RETURNING cl_trid`,
  { cl_trid: "text" },
);

const createAttempts = statement(
  "attempts-of-create",
  `SELECT count(*) AS total, count(*) FILTER (WHERE answered_at IS NULL) AS unanswered, min(committed_at) AS first_at
   FROM order_attempts WHERE order_id = $1 AND command = 'domain:create'`,
  { total: "int8", unanswered: "int8", first_at: "timestamptz?" },
);

// One of a version without epochs counts too.
const earlierAttempts = statement(
  "attempts-of-earlier-owners",
  `SELECT count(*) FILTER (WHERE answered_at IS NULL) AS open, count(*) AS unknown FROM order_attempts
   WHERE order_id = $1 AND command = $2 AND result_code IS NULL AND epoch IS DISTINCT FROM $3`,
  { open: "int8", unknown: "int8" },
);

/** Its creates that may have reached the registry, and when the first of them was about to. */
export async function readCreateAttempts(database: Pick<Transaction, "query">, orderId: number) {
  const [attempts] = await database.query(createAttempts, [orderId]);
  if (!attempts) throw new Error("the attempts query returned no row");
  return attempts;
}

/**
 * Commands of this kind that an owner before this one may have sent, and of which no answer is known: `open` while nothing has
 * shown what became of them; `unknown` are all.
 */
export async function readEarlierAttempts({ database, lease }: OwnerContext, orderId: number, command: string) {
  const [attempts] = await database.query(earlierAttempts, [orderId, command, lease.epoch]);
  if (!attempts) throw new Error("the attempts query returned no row");
  return attempts;
}

/**
 * Commits an attempt row, which must stand before the first byte of its command is written.
 * @returns the clTRID to send: `<order_code>-<n>`, never used before
 * @throws OrderChanged when it is not any more as it was read, or has a create or delete without an answer
 * @throws LeaseLost when this process does not own the registry any more
 */
export async function beginAttempt(context: OwnerContext, order: Order, command: string): Promise<string> {
  const { id, order_code: code, status, phase, cancel_requested_at: cancelRequestedAt, settle_as: settleAs } = order;
  const [attempt] = await context.database.query(insertAttempt, [
    ...[id, code, command, context.clock.now(), status, phase, cancelRequestedAt, settleAs],
    context.lease.epoch,
  ]);
  if (attempt) return attempt.cl_trid;
  await assertLeaseStands(context.database, context.lease);
  throw new OrderChanged();
}
