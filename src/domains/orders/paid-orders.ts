/**
 * The cap on orders that cost money. Until accounts have balances, the registrations, renewals by hand and restores of each
 * account in a UTC day have a limit. What the schedule renews does not count. The count is one row of the account. Whatever places
 * an order locks it first, so the limit holds for orders that are placed at the same moment.
 */
import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import { ApiError } from "#errors.ts";
import type { Clock } from "#lib/clock.ts";

/** SQL: how many orders an account has placed today, by its row `paid` of `paid_orders`. @param at SQL: now */
export const placedToday = (at: string) =>
  `CASE WHEN paid.day >= (${at} AT TIME ZONE 'UTC')::date THEN paid.placed ELSE 0 END`;

/** SQL: how many more orders an account may place today. @param at SQL: now */
const placesLeft = (at: string) => `account.paid_orders_day_max - ${placedToday(at)}`;

/**
 * SQL: CTEs that lock the counts of the accounts of some orders until the transaction ends, and choose those that may be placed:
 * `allowed`, rows of item. Of several orders for one name only one will be placed, so the others come last.
 * @param source SQL: rows of item, reseller_id, domain_name and at, one for each order
 */
export const allowPaid = (source: string) => `
   counts AS MATERIALIZED (
     SELECT reseller_id, day, placed FROM paid_orders
     WHERE reseller_id IN (SELECT reseller_id FROM ${source}) ORDER BY reseller_id FOR NO KEY UPDATE),
   allowed AS MATERIALIZED (
     SELECT ranked.item FROM (
       SELECT item, reseller_id, at, row_number() OVER (PARTITION BY reseller_id ORDER BY repeat, item) AS place
       FROM (SELECT item, reseller_id, at, row_number() OVER (PARTITION BY domain_name ORDER BY item) AS repeat
             FROM ${source}) AS asked) AS ranked
     JOIN resellers AS account ON account.id = ranked.reseller_id
     JOIN counts AS paid ON paid.reseller_id = ranked.reseller_id
     WHERE ranked.place <= ${placesLeft("ranked.at")})`;

/** SQL: a CTE that counts orders as placed. @param source SQL: rows of reseller_id and at, one for each order */
export const countPaid = (source: string) => `
   counted AS (
     INSERT INTO paid_orders AS paid (reseller_id, day, placed)
     SELECT reseller_id, max((at AT TIME ZONE 'UTC')::date), count(*) FROM ${source} AS orders GROUP BY 1 ORDER BY 1
     ON CONFLICT (reseller_id) DO UPDATE SET day = greatest(paid.day, excluded.day),
       placed = excluded.placed + CASE WHEN paid.day >= excluded.day THEN paid.placed ELSE 0 END
     RETURNING reseller_id, placed)`;

/** SQL: whether an account has placed as many orders today as it may. @param reseller SQL: its id @param at SQL: now */
export const isPaidLimitReached = (reseller: string, at: string) => `
  coalesce((SELECT ${placesLeft(at)} <= 0 FROM resellers AS account JOIN paid_orders AS paid ON paid.reseller_id = account.id
    WHERE account.id = ${reseller}), false)`;

const countOne = statement(
  "paid-order-count",
  `WITH ${countPaid("(SELECT $reseller_id::int8 AS reseller_id, $now::timestamptz AS at)")}
   SELECT counted.placed <= account.paid_orders_day_max AS is_allowed
   FROM counted JOIN resellers AS account ON account.id = counted.reseller_id` as string,
  { is_allowed: "bool" },
);

/** Counts an order in the transaction that places it. @throws ApiError `order_limit_reached` */
export async function countPaidOrder({ clock }: { clock: Clock }, tx: Transaction, resellerId: number): Promise<void> {
  const now = clock.now();
  const [row] = await tx.query(countOne, { reseller_id: resellerId, now });
  if (!row?.is_allowed) throw paidLimitReached(now);
}

const dayMs = 24 * 60 * 60_000;

/** @param now the next UTC day is when it is worth another try */
export function paidLimitReached(now: Date): ApiError {
  const leftMs = dayMs - (now.getTime() % dayMs);
  return new ApiError("order_limit_reached", {
    text: "Your account has placed as many paid orders (registrations, renewals, restores) as it may in one day (UTC). Nothing was ordered; try again after the number of seconds in retry-after, or ask the operator for a higher limit.",
    headers: { "retry-after": String(Math.ceil(leftMs / 1000)) },
  });
}
