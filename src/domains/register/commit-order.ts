/** Writes a registration with its history and its answer, if its name and the day's limit allow it. */
import type { Context } from "#context.ts";
import { itemsText } from "#db/batch.ts";
import { statement } from "#db/statement.ts";
import type { GivenContacts } from "#domains/contacts/contact.ts";
import { storeContactsAtCommit } from "#domains/contacts/stored.ts";
import { allowPaid, countPaid } from "#domains/orders/paid-orders.ts";
import { wakeAll } from "#domains/registry/sessions.ts";
import type { Answer, UseCaseRequest } from "#use-case/use-case.ts";

// Orders of the same moment share one statement and one commit: their rows, histories, answers and the notification of the
// registry's session holder. If the nonce is committed already, the statement fails: no part of that order may stay.
const insertOrders = statement(
  "orders-insert",
  `WITH new AS MATERIALIZED (
     SELECT item, order_code, reseller_id, domain_name, suffix, registry_id, input, found, secret_sealed, at, answered, traceparent
     FROM jsonb_to_recordset($items::jsonb) AS item(item int4, order_code text, reseller_id int8, domain_name text,
       suffix text, registry_id text, input jsonb, found jsonb, secret_sealed bytea, at timestamptz, answered jsonb,
       traceparent text)),
   ${allowPaid("new")},
   placed AS (
     INSERT INTO orders (order_code, reseller_id, domain_name, suffix, registry_id, kind, input, found, secret_sealed, is_urgent,
       status, created_at, updated_at, traceparent)
     SELECT order_code, reseller_id, domain_name, suffix, registry_id, 'create', input, found, secret_sealed, false,
       'NotProvisioned', at, at, traceparent FROM new WHERE item IN (SELECT item FROM allowed) ORDER BY item
     ON CONFLICT (domain_name) WHERE kind = 'create' AND ended_at IS NULL DO NOTHING
     RETURNING id, order_code, lane),
   written AS MATERIALIZED (
     SELECT new.item, placed.id, placed.lane, new.reseller_id, new.registry_id, new.at, new.answered
     FROM placed JOIN new USING (order_code)),
   history AS (
     INSERT INTO order_history (order_id, at, event, status)
     SELECT id, at, 'requested', 'NotProvisioned' FROM written),
   answers AS (
     INSERT INTO committed_requests (key_id, nonce, signed_at, request_digest, status, headers, body, created_at)
     SELECT a.key_id, a.nonce, a.signed_at, a.request_digest, a.status, a.headers, a.body, written.at
     FROM written, jsonb_to_record(written.answered) AS a(key_id text, nonce text, signed_at int8,
       request_digest bytea, status int4, headers jsonb, body text)
     WHERE written.answered IS NOT NULL),
   ${countPaid("written")},
   woken AS MATERIALIZED (${wakeAll("written")})
   SELECT written.item, written.id, (SELECT notified FROM woken) AS owners_notified FROM written
   UNION ALL SELECT item, NULL, NULL FROM new WHERE item NOT IN (SELECT item FROM allowed)`,
  { item: "int4", id: "int8?", owners_notified: "int8?" },
);

/** The driver's text form of a bytea. */
export const byteaText = (bytes: Buffer) => `\\x${bytes.toString("hex")}`;

/**
 * Writes an order with its answer.
 * @returns "taken" when there is a live order for the name; whatever is not "placed" has written nothing
 * @throws DatabaseError a unique violation of committed_requests, when this very request was committed meanwhile
 */
export async function commitOrder(
  context: Context,
  request: UseCaseRequest,
  { item, given }: { item: object; given: GivenContacts },
  answer: Answer,
): Promise<Outcome> {
  const hasContacts = Object.keys(given).length > 0;
  const row = hasContacts ? undefined : request.committedRow(answer);
  if (row) {
    const answered = { ...row, request_digest: byteaText(row.request_digest) };
    return outcomeOf(await context.database.batched(insertOrders, { ...item, answered }));
  }
  return context.database.transaction(async (tx) => {
    const outcome = outcomeOf(await tx.query(insertOrders, { items: itemsText([item]) }));
    if (outcome !== "placed") return outcome;
    if (hasContacts) storeContactsAtCommit(context, tx, request.caller.resellerId, Object.values(given));
    await request.commit(tx, answer);
    return outcome;
  });
}

/** What became of an order. */
type Outcome = "placed" | "taken" | "limit-reached";

function outcomeOf([row]: NonNullable<(typeof insertOrders)["row"]>[]): Outcome {
  if (!row) return "taken";
  return row.id === null ? "limit-reached" : "placed";
}
