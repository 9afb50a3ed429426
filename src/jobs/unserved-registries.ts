/**
 * Raises an alarm for each registry that has orders or names here but no process that serves it, because its profile was
 * removed or renamed. When it has an owner again, that one resolves the alarm (registry-absence.ts).
 */
import { raiseAlarm } from "#alarms.ts";
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { registryOwnerAlive } from "#locks/owner-lock.ts";

// Every name is in one of the two indexes: it has no renewal, or one that has not ended.
const unserved = statement(
  "registries-unserved",
  `SELECT id FROM registries WHERE id <> ALL($served::text[]) AND NOT ${registryOwnerAlive("id")} AND (
     EXISTS (SELECT FROM orders WHERE registry_id = registries.id AND ended_at IS NULL)
     OR EXISTS (SELECT FROM domains WHERE registry_id = registries.id AND renewal_id IS NULL)
     OR EXISTS (SELECT FROM renewals WHERE registry_id = registries.id AND ended_at IS NULL))`,
  { id: "text" },
);

export async function alarmUnservedRegistries(context: Context): Promise<void> {
  const served = context.registries.map((profile) => profile.id);
  for (const { id } of await context.database.query(unserved, { served })) {
    const note = `no profile of the registry ${id}: its orders wait, and its names are not renewed`;
    await raiseAlarm(context, { kind: "registry-away", subject: id, note });
  }
}
