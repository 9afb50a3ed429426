/**
 * A name leaves the portfolio, in one transaction: its departure is written, its renewal ends, and its orders that no registry has
 * seen are cancelled. An order with a command that may be executed ends by its own proof. History stays; a trigger on `domains`
 * frees customers' host names.
 */
import { resolveAlarm } from "#alarms.ts";
import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import { cancelScheduledOrder } from "#domains/orders/follow-up.ts";
import { findOrder, mayBeCancelled } from "#domains/orders/order.ts";
import { write } from "#domains/orders/write.ts";
import { type Departure, leavePortfolio } from "#domains/portfolio/rows.ts";
import type { OwnerContext } from "#domains/registry/sessions.ts";

const leavePortfolioNow = statement(
  "domain-leave",
  `WITH ${leavePortfolio(`(SELECT $name::text AS domain_name, $now::timestamptz AS at, $reason::text AS left_as,
     $gaining_registrar::text AS gaining_registrar, $restorable_until::timestamptz AS restorable_until)`)},
   history AS (
     INSERT INTO domain_history (domain_name, reseller_id, at, event, note)
     SELECT domain_name, reseller_id, at, 'ended', $note FROM gone),
   over AS (
     UPDATE renewals SET status = 'Ended', phase = NULL, reason = $note, updated_at = $now, ended_at = $now
     WHERE domain_name = $name AND ended_at IS NULL RETURNING id),
   renewal_told AS (
     INSERT INTO renewal_history (renewal_id, at, event, status, note) SELECT id, $now, 'left', 'Ended', $note FROM over)
   SELECT domain_name FROM gone` as string,
  { domain_name: "text" },
);

const liveOrders = statement(
  "departing-name-orders",
  "SELECT id FROM orders WHERE domain_name = $name AND kind = 'create' AND ended_at IS NULL ORDER BY id",
  { id: "int8" },
);

export interface Leaving {
  name: string;
  renewalId: number | null;
  departure: Departure;
  /** Why, for people. */
  note: string;
}

/**
 * @param tx holds the lock of the name's row
 * @throws OrderConflict when an order was written meanwhile: start a new transaction
 * @throws LeaseLost when this process no longer owns the registry
 */
export async function leave(
  context: OwnerContext,
  tx: Transaction,
  { name, renewalId, departure, note }: Leaving,
): Promise<void> {
  const now = context.clock.now();
  if (renewalId !== null) {
    await cancelScheduledOrder(tx, renewalId, { reason: `the name has left the portfolio: ${note}`, now });
  }
  const { reason, gainingRegistrar = null, restorableUntil = null } = departure;
  const how = { reason, gaining_registrar: gainingRegistrar, restorable_until: restorableUntil };
  await tx.query(leavePortfolioNow, { name, now, note, ...how });
  // An alarm about its renewal, or that it cannot be scheduled.
  await resolveAlarm(context, { kind: "renewal", subject: name }, tx);
  for (const { id } of await tx.query(liveOrders, { name })) {
    const order = await findOrder(context, id, tx);
    if (!order || !mayBeCancelled(order)) continue;
    await write(context, order, { event: "cancel", reason: "the name has left the portfolio" }, tx);
  }
}
