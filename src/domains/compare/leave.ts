/**
 * A name leaves the portfolio, in one transaction: its departure is written, its renewal ends, and its orders that no registry has
 * seen are cancelled. An order with a command that may be executed ends by its own proof. History stays; a trigger on `domains`
 * frees customers' host names.
 */
import { resolveAlarm } from "#alarms.ts";
import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import { findOrder, OrderConflict } from "#domains/orders/order.ts";
import { cancelScheduledOrder } from "#domains/orders/scheduled-order.ts";
import { mayBeCancelled } from "#domains/orders/unsent.ts";
import { write } from "#domains/orders/write.ts";
import { type Departure, leavePortfolio } from "#domains/portfolio/rows.ts";
import type { OwnerContext } from "#domains/registry/sessions.ts";
import { findRenewal, writeRenewal } from "#domains/schedule/renewals.ts";

const leaveWithoutRenewal = statement(
  "domain-leave",
  `WITH ${leavePortfolio(`(SELECT $name::text AS domain_name, $now::timestamptz AS at, $reason::text AS left_as,
     $gaining_registrar::text AS gaining_registrar, $restorable_until::timestamptz AS restorable_until)`)},
   history AS (
     INSERT INTO domain_history (domain_name, reseller_id, at, event, note)
     SELECT domain_name, reseller_id, at, 'ended', $note FROM gone)
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
 * @throws OrderConflict when its renewal or an order was written meanwhile: start a new transaction
 * @throws LeaseLost when this process no longer owns the registry
 */
export async function leave(context: OwnerContext, tx: Transaction, leaving: Leaving): Promise<void> {
  const { name, renewalId } = leaving;
  if (renewalId === null) await endName(context, tx, leaving);
  else await endRenewal(context, tx, renewalId, leaving);
  for (const { id } of await tx.query(liveOrders, { name })) {
    const order = await findOrder(context, id, tx);
    if (!order || !mayBeCancelled(order)) continue;
    await write(context, order, { event: "cancel", reason: "the name has left the portfolio" }, tx);
  }
}

async function endName(context: OwnerContext, tx: Transaction, { name, departure, note }: Leaving): Promise<void> {
  const { reason, gainingRegistrar = null, restorableUntil = null } = departure;
  const how = { reason, gaining_registrar: gainingRegistrar, restorable_until: restorableUntil };
  await tx.query(leaveWithoutRenewal, { name, now: context.clock.now(), note, ...how });
  // An alarm that its renewal cannot be scheduled.
  await resolveAlarm(context, { kind: "renewal", subject: name }, tx);
}

/** The name leaves with the end of its renewal. */
async function endRenewal(
  context: OwnerContext,
  tx: Transaction,
  id: number,
  { departure, note }: Leaving,
): Promise<void> {
  await cancelScheduledOrder(tx, id, { reason: `the name has left the portfolio: ${note}`, now: context.clock.now() });
  const renewal = await findRenewal({ clock: context.clock, database: tx }, id);
  if (!renewal) throw new OrderConflict();
  await writeRenewal(context, renewal, { event: "left", reason: note, departure }, tx);
}
