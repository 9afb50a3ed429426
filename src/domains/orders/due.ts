/** Which orders of a registry are due, by lane. */
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { type Lane, longestWaitMs } from "#domains/registry/sessions.ts";
import { type RowSource, type WaitingRow, waitingRows } from "#progress/rows.ts";
import type { RegistryProfile } from "#registry/registries.ts";

// A command that may still be executed is given its whole time again.
const pullIn = statement(
  "orders-pull-in",
  `UPDATE orders AS o SET next_step_at = CASE WHEN phase = 'verify' THEN $settled::timestamptz ELSE $now::timestamptz END
   WHERE registry_id = $registry_id AND lane = $lane AND ended_at IS NULL AND next_step_at > $latest::timestamptz
     AND NOT EXISTS (SELECT FROM registries WHERE id = o.registry_id AND o.next_step_at <= maintenance_until)`,
  {},
);

const waitingIn = (lane: Lane) =>
  waitingRows(`${lane}-orders`, {
    table: "orders",
    id: { column: "id", type: "int8" },
    owner: "registry_id",
    only: `ended_at IS NULL AND lane = '${lane}'`,
    isTraced: true,
  });

/** Call it at module level. */
function dueIn(lane: Lane) {
  const waiting = waitingIn(lane);
  return (context: Pick<Context, "database">, profile: RegistryProfile): RowSource<number> => ({
    ...waiting(context, profile.id),
    async pullIn(now) {
      const after = (ms: number) => new Date(now.getTime() + ms);
      const settled = after(Math.max(profile.settleMs, profile.takeoverSettleMs));
      const latest = after(longestWaitMs(profile));
      await context.database.query(pullIn, { registry_id: profile.id, lane, now, settled, latest });
    },
  });
}

/** Registrations. */
export const dueRegistrations = dueIn("registration");
/** Renewals, deletes, restores and answers to transfers that a customer has ordered: they do not wait for orders that only set a value. */
export const dueUrgent = dueIn("urgent");
/** Those of the schedule: many names can be due on one day. */
export const dueScheduled = dueIn("schedule");
const dueByTime = dueIn("value");

// Goes from reseller to reseller, from the one after `after` on, by one look into the index each: how many rows wait does not matter.
const dueInTurns = statement(
  "value-orders-in-turns",
  `WITH RECURSIVE turns (reseller_id, is_second_lap, place) AS (
     SELECT $after::int8, false, 0
     UNION ALL
     SELECT next.reseller_id, next.is_second_lap, turns.place + 1
     FROM turns CROSS JOIN LATERAL (
       (SELECT reseller_id, turns.is_second_lap FROM orders
        WHERE registry_id = $registry_id AND ended_at IS NULL AND lane = 'value' AND reseller_id > turns.reseller_id
          AND (NOT turns.is_second_lap OR reseller_id <= $after)
          AND next_step_at <= $now::timestamptz AND id <> ALL ($except::int8[]) ORDER BY reseller_id LIMIT 1)
       UNION ALL
       (SELECT reseller_id, true FROM orders
        WHERE registry_id = $registry_id AND ended_at IS NULL AND lane = 'value' AND reseller_id <= $after
          AND NOT turns.is_second_lap
          AND next_step_at <= $now AND id <> ALL ($except) ORDER BY reseller_id LIMIT 1)
       ORDER BY is_second_lap LIMIT 1) AS next
     WHERE turns.place < $rows_max::int4)
   SELECT id, version, next_step_at, traceparent, turns.reseller_id
   FROM turns CROSS JOIN LATERAL (
     SELECT id, version, next_step_at, traceparent, row_number() OVER (ORDER BY next_step_at, id) AS round FROM orders
     WHERE registry_id = $registry_id AND ended_at IS NULL AND lane = 'value' AND reseller_id = turns.reseller_id
       AND turns.place > 0 AND next_step_at <= $now AND id <> ALL ($except)
     ORDER BY next_step_at, id LIMIT $rows_max) AS due
   ORDER BY round, place LIMIT $rows_max`,
  { id: "int8", version: "int8", next_step_at: "timestamptz?", traceparent: "text?", reseller_id: "int8" },
);

/** Orders that only set a value: resellers take turns, so that a thousand orders of one do not delay another one's single order. */
export function dueValues(context: Pick<Context, "database" | "clock">, profile: RegistryProfile): RowSource<number> {
  const rows = dueByTime(context, profile);
  /** The reseller whose turn was the last one. */
  let after = 0;
  return {
    ...rows,
    async first(rowsMax, except) {
      const now = context.clock.now();
      const values = { registry_id: profile.id, after, now, except, rows_max: rowsMax };
      const taken = await context.database.query(dueInTurns, values);
      after = taken.at(-1)?.reseller_id ?? after;
      const due = taken as WaitingRow<number>[];
      if (due.length === rowsMax) return due;
      return [...due, ...(await rows.first(1, [...except, ...due.map(({ id }) => id)]))];
    },
  };
}
