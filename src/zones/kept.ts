/** How long changes of zones and deleted zones are kept. */
import type { Context } from "#context.ts";
import { deleteInParts } from "#db/parts.ts";
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
// The row stays, because it knows the last serial of the name.
const dropSets = deleteInParts(
  "zone-sets-drop",
  "zone_sets",
  `zone_id IN (SELECT id FROM zones WHERE withdrawn_at < $now::timestamptz - interval '${restorableDays} days')`,
  "zone_id",
);

export async function dropOldZones({ database, clock }: Pick<Context, "database" | "clock">): Promise<void> {
  await dropChanges(database, { now: clock.now() });
  await dropSets(database, { now: clock.now() });
}
