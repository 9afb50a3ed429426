/**
 * A new order in the database. Orders of one moment are one statement and one commit: their rows, histories, the answers
 * that were promised for them, and the word to the registry's owner. A unique index on the live name decides races.
 */

import type { Context } from "#context.ts";
import { itemsText } from "#db/batch.ts";
import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import { wakeAll } from "#domains/changes/due.ts";
import type { Money } from "#registry/epp/commands/domain/fee.ts";
import type { CommittedRow } from "#use-case/stored-answers.ts";

// A nonce that is committed already fails the statement: nothing of that order may stay.
const insertOrders = statement(
  "orders-insert",
  `WITH new AS MATERIALIZED (
     SELECT item, order_code, reseller_id, domain_name, suffix, registry_id, period_years, auth_info_sealed, checked_at,
       fee_amount, fee_currency, at, answered
     FROM jsonb_to_recordset($1::jsonb) AS item(item int4, order_code text, reseller_id int8, domain_name text,
       suffix text, registry_id text, period_years int4, auth_info_sealed bytea, checked_at timestamptz,
       fee_amount numeric, fee_currency text, at timestamptz, answered jsonb)),
   placed AS (
     INSERT INTO registration_orders (order_code, reseller_id, domain_name, suffix, registry_id, period_years,
       auth_info_sealed, status, checked_at, fee_amount, fee_currency, created_at, updated_at)
     SELECT order_code, reseller_id, domain_name, suffix, registry_id, period_years, auth_info_sealed,
       'NotProvisioned', checked_at, fee_amount, fee_currency, at, at FROM new ORDER BY item
     ON CONFLICT (domain_name) WHERE status IN ('NotProvisioned', 'Processing', 'Pending') DO NOTHING
     RETURNING id, order_code),
   written AS MATERIALIZED (
     SELECT new.item, placed.id, new.reseller_id, new.registry_id, new.at, new.answered
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
   told AS MATERIALIZED (${wakeAll("order", "written")})
   SELECT written.item, written.id, (SELECT told FROM told) AS owners_told FROM written`,
  { item: "int4", id: "int8", owners_told: "int8" },
);

export interface NewOrder {
  code: string;
  resellerId: number;
  name: string;
  suffix: string;
  registryId: string;
  periodYears: number;
  authInfoSealed: Buffer;
  /** When the registry was asked whether the name is free, and said so. */
  checkedAt: Date;
  /** The price that was agreed to, of a name with a price of its own. */
  fee: Money | undefined;
}

/** The driver's text form of a bytea. */
const byteaText = (bytes: Buffer) => `\\x${bytes.toString("hex")}`;

function itemOf(context: Context, order: NewOrder, answered: CommittedRow | undefined) {
  return {
    ...{ order_code: order.code, reseller_id: order.resellerId, domain_name: order.name, suffix: order.suffix },
    ...{ registry_id: order.registryId, period_years: order.periodYears, checked_at: order.checkedAt },
    ...(order.fee && { fee_amount: order.fee.amount, fee_currency: order.fee.currency }),
    ...{ auth_info_sealed: byteaText(order.authInfoSealed), at: context.clock.now() },
    ...(answered && { answered: { ...answered, request_digest: byteaText(answered.request_digest) } }),
  };
}

/**
 * Writes an order with its answer, beside those of other requests.
 * @returns false when a live order for the name is there already; then nothing was written
 * @throws DatabaseError a unique violation of committed_requests, when this very request was committed meanwhile
 */
export async function placeOrder(context: Context, order: NewOrder, answered: CommittedRow): Promise<boolean> {
  const placed = await context.database.batched(insertOrders, itemOf(context, order, answered));
  return placed.length > 0;
}

/** The same in a transaction that the caller has more to write in. */
export async function placeOrderIn(context: Context, tx: Transaction, order: NewOrder): Promise<boolean> {
  const placed = await tx.query(insertOrders, [itemsText([itemOf(context, order, undefined)])]);
  return placed.length > 0;
}
