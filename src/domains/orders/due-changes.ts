/** Which orders about registered names are due. Urgent ones do not wait for those that only set a value. */
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { longestWaitMs } from "#domains/orders/change.ts";
import { dueRows } from "#domains/orders/due.ts";
import type { RowSource, WaitingRow } from "#progress/rows.ts";
import type { RegistryProfile } from "#registry/registries.ts";

const changes = { table: "changes", name: "change", longestWaitMs } as const;

/** Renewals, deletes, restores and answers to transfers that somebody asked for. */
export const dueUrgentChanges = dueRows({ ...changes, part: "urgent-", taken: "is_urgent AND renewal_id IS NULL" });

/** Those of the schedule: many names can be due on one day. */
export const dueScheduledChanges = dueRows({ ...changes, part: "scheduled-", taken: "renewal_id IS NOT NULL" });

const dueByTime = dueRows({ ...changes, part: "value-", taken: "NOT is_urgent" });

// Goes from reseller to reseller, from the one after `after` on, by one look into the index each: how many rows wait does not matter.
const dueInTurns = statement(
  "value-changes-in-turns",
  `WITH RECURSIVE turns (reseller_id, is_second_lap, place) AS (
     SELECT $after::int8, false, 0
     UNION ALL
     SELECT next.reseller_id, next.is_second_lap, turns.place + 1
     FROM turns CROSS JOIN LATERAL (
       (SELECT reseller_id, turns.is_second_lap FROM changes
        WHERE registry_id = $registry_id AND ended_at IS NULL AND NOT is_urgent AND reseller_id > turns.reseller_id
          AND (NOT turns.is_second_lap OR reseller_id <= $after)
          AND next_step_at <= $now::timestamptz AND id <> ALL ($except::int8[]) ORDER BY reseller_id LIMIT 1)
       UNION ALL
       (SELECT reseller_id, true FROM changes
        WHERE registry_id = $registry_id AND ended_at IS NULL AND NOT is_urgent AND reseller_id <= $after
          AND NOT turns.is_second_lap
          AND next_step_at <= $now AND id <> ALL ($except) ORDER BY reseller_id LIMIT 1)
       ORDER BY is_second_lap LIMIT 1) AS next
     WHERE turns.place < $rows_max::int4)
   SELECT id, version, next_step_at, turns.reseller_id
   FROM turns CROSS JOIN LATERAL (
     SELECT id, version, next_step_at, row_number() OVER (ORDER BY next_step_at, id) AS round FROM changes
     WHERE registry_id = $registry_id AND ended_at IS NULL AND NOT is_urgent AND reseller_id = turns.reseller_id
       AND turns.place > 0 AND next_step_at <= $now AND id <> ALL ($except)
     ORDER BY next_step_at, id LIMIT $rows_max) AS due
   ORDER BY round, place LIMIT $rows_max`,
  { id: "int8", version: "int8", next_step_at: "timestamptz?", reseller_id: "int8" },
);

/** Orders that only set a value: resellers take turns, so that a thousand orders of one do not delay another one's single order. */
export function dueValueChanges(
  context: Pick<Context, "database" | "clock">,
  profile: RegistryProfile,
): RowSource<number> {
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
