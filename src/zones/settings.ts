/** What triggers know of the settings of zones, and what zones are made of after a change of them. */
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { sleep } from "#lib/clock.ts";

const record = statement(
  "zone-settings",
  `UPDATE zone_settings SET name_servers = $name_servers::text[], hostmaster = $hostmaster, are_applied = false
   WHERE (name_servers, hostmaster) IS DISTINCT FROM ($name_servers::text[], $hostmaster::text)`,
  {},
);

/** Every process that is set up for zones says so at its start. */
export async function recordZoneSettings({ database, zones }: Pick<Context, "database" | "zones">): Promise<void> {
  await database.query(record, { name_servers: [...zones.nameServers], hostmaster: zones.hostmaster });
}

const zonesPerSecond = 50;
const secondsMax = 50;

const renew = statement(
  "zones-take-settings",
  `WITH old AS (
     SELECT zones.id FROM zones, zone_settings AS settings
     WHERE NOT settings.are_applied AND state <> 'Withdrawn' AND cardinality(settings.name_servers) > 0
       AND (zones.name_servers, zones.hostmaster) IS DISTINCT FROM (settings.name_servers, settings.hostmaster)
     ORDER BY zones.id LIMIT ${zonesPerSecond} FOR NO KEY UPDATE OF zones SKIP LOCKED),
   changed AS (
     UPDATE zones SET name_servers = settings.name_servers, hostmaster = settings.hostmaster, revision = revision + 1,
       serial = zone_serial_after(serial, $now), state = CASE state WHEN 'Active' THEN 'Publishing' ELSE state END,
       checks = 0, next_step_at = $now, updated_at = $now
     FROM old, zone_settings AS settings WHERE zones.id = old.id RETURNING zones.id, revision, serial),
   noted AS (
     INSERT INTO zone_changes (zone_id, revision, serial, at, door) SELECT id, revision, serial, $now, 'settings' FROM changed)
   SELECT count(*) AS changed FROM changed` as string,
  { changed: "int8" },
);

// Once more after all of them, so that a zone that was locked meanwhile is not left out.
const noteApplied = statement(
  "zone-settings-applied",
  `UPDATE zone_settings AS settings SET are_applied = true
   WHERE NOT are_applied AND (cardinality(settings.name_servers) = 0 OR NOT EXISTS (
     SELECT FROM zones WHERE state <> 'Withdrawn'
       AND (zones.name_servers, zones.hostmaster) IS DISTINCT FROM (settings.name_servers, settings.hostmaster)))`,
  {},
);

/** Gives all zones the name servers that are set now, no faster than the servers take them. */
export async function renewZones({ database, clock }: Pick<Context, "database" | "clock">): Promise<void> {
  for (let second = 0; second < secondsMax; second++) {
    const [row] = await database.query(renew, { now: clock.now() });
    if (!row || row.changed < zonesPerSecond) break;
    await sleep(1_000);
  }
  await database.query(noteApplied, {});
}
