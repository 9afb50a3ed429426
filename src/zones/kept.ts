/** How long changes of zones and deleted zones are kept. */
import type { Context } from "#context.ts";
import { deleteInParts } from "#db/parts.ts";
import { statement } from "#db/statement.ts";
import { restorableDays } from "#zones/zone.ts";

const changesKeptDays = 400;

// The newest one says who has made the zone what it is.
const dropChanges = deleteInParts(
  "zone-changes-drop",
  "zone_changes",
  `at < $now::timestamptz - interval '${changesKeptDays} days'
   AND EXISTS (SELECT FROM zones WHERE zones.id = zone_id AND zones.revision > zone_changes.revision)`,
  "at",
);
const zonesPerRunMax = 20;

// The row stays, because it knows the last serial of the name.
const dropSets = statement(
  "zone-sets-drop",
  `WITH old AS MATERIALIZED (
     SELECT id FROM zones
     WHERE withdrawn_at < $now::timestamptz - interval '${restorableDays} days' AND withdrawn_at IS NOT NULL AND record_count > 0
     ORDER BY withdrawn_at LIMIT ${zonesPerRunMax} FOR NO KEY UPDATE SKIP LOCKED),
   gone AS (DELETE FROM zone_sets USING old WHERE zone_id = old.id)
   UPDATE zones SET record_count = 0 FROM old WHERE zones.id = old.id` as string,
  {},
);

export async function dropOldZones({ database, clock }: Pick<Context, "database" | "clock">): Promise<void> {
  await dropChanges(database, { now: clock.now() });
  await database.query(dropSets, { now: clock.now() });
}
