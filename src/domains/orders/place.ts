/**
 * Writes a new order. Orders of the same moment share one statement and one commit: their rows, histories, the answers promised
 * for them, and the notification of the registry's owner. A unique index on the live name decides races.
 */

import type { Context } from "#context.ts";
import { itemsText } from "#db/batch.ts";
import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import { wakeAll } from "#domains/changes/due.ts";
import type { Money } from "#registry/epp/commands/domain/fee.ts";
import type { CommittedRow } from "#use-case/stored-answers.ts";

// If the nonce is committed already, the statement fails: no part of that order may stay.
const insertOrders = statement(
  "orders-insert",
  `WITH new AS MATERIALIZED (
     SELECT item, order_code, reseller_id, domain_name, suffix, registry_id, period_years, auth_info_sealed, checked_at,
       fee_amount, fee_currency, at, answered
     FROM jsonb_to_recordset($items::jsonb) AS item(item int4, order_code text, reseller_id int8, domain_name text,
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
   woken AS MATERIALIZED (${wakeAll("order", "written")})
   SELECT written.item, written.id, (SELECT notified FROM woken) AS owners_notified FROM written`,
  { item: "int4", id: "int8", owners_notified: "int8" },
);

export interface NewOrder {
  code: string;
  resellerId: number;
  name: string;
  suffix: string;
  registryId: string;
  periodYears: number;
  authInfoSealed: Buffer;
  /** When we asked the registry, which said that the name is free. */
  checkedAt: Date;
  /** The agreed price, for a name with a price of its own. */
  fee: Money | undefined;
}

/** The driver's text form of a bytea. */
const byteaText = (bytes: Buffer) => `\\x${bytes.toString("hex")}`;

const itemOf = (context: Context, order: NewOrder, answered?: CommittedRow) => ({
  order_code: order.code,
  reseller_id: order.resellerId,
  domain_name: order.name,
  suffix: order.suffix,
  registry_id: order.registryId,
  period_years: order.periodYears,
  auth_info_sealed: byteaText(order.authInfoSealed),
  checked_at: order.checkedAt,
  fee_amount: order.fee?.amount,
  fee_currency: order.fee?.currency,
  at: context.clock.now(),
  answered: answered && { ...answered, request_digest: byteaText(answered.request_digest) },
});

/**
 * Writes an order with its answer, batched with those of other requests.
 * @returns false when there is a live order for the name; then nothing was written
 * @throws DatabaseError a unique violation of committed_requests, when this very request was committed meanwhile
 */
export async function placeOrder(context: Context, order: NewOrder, answered: CommittedRow): Promise<boolean> {
  const placed = await context.database.together(insertOrders, itemOf(context, order, answered));
  return placed.length > 0;
}

/** The same in a transaction that writes more. */
export async function placeOrderIn(context: Context, tx: Transaction, order: NewOrder): Promise<boolean> {
  const placed = await tx.query(insertOrders, { items: itemsText([itemOf(context, order)]) });
  return placed.length > 0;
}
