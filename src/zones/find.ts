/** Finds the zone of a name for role `dns`, as it is now. Its sets are read again only after a change. */
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import type { RecordSet } from "#dns/records.ts";
import { type ServedZone, servedZone } from "#dns/served-zone.ts";

/** Zones that are kept; a larger one has some hundred kilobytes. */
const keptMax = 500;

const zoneAbove = statement(
  "served-zone",
  `SELECT id, revision FROM zones WHERE domain_name = ANY (names_at_and_above($name)) AND state <> 'Withdrawn'
   ORDER BY length(domain_name) DESC LIMIT 1`,
  { id: "int8", revision: "int8" },
);

// One statement, so that version and sets belong together.
const zoneInFull = statement(
  "served-zone-in-full",
  `SELECT domain_name, revision, serial, name_servers, hostmaster, coalesce((
     SELECT jsonb_agg(jsonb_build_object('owner', owner, 'type', type, 'ttl', ttl, 'records', records, 'source', source) ORDER BY owner, type)
     FROM zone_sets WHERE zone_id = zones.id), '[]') AS sets
   FROM zones WHERE id = $id`,
  {
    domain_name: "text",
    revision: "int8",
    serial: "int8",
    name_servers: "text[]",
    hostmaster: "text",
    sets: "jsonb",
  },
);

type KeptSet = RecordSet & { source: "user" | "hosting" | "service" };

/** @returns finds the zone that a name lies in; undefined when there is none here */
export function createZoneFinder({ database }: Pick<Context, "database">) {
  const kept = new Map<number, { revision: number; zone: ServedZone }>();

  return async (name: string): Promise<ServedZone | undefined> => {
    const [found] = await database.query(zoneAbove, { name });
    if (!found) return undefined;
    const known = kept.get(found.id);
    if (known?.revision === found.revision) return known.zone;
    const [row] = await database.query(zoneInFull, { id: found.id });
    if (!row) return undefined;
    const sets = row.sets as KeptSet[];
    const zone = servedZone({
      name: row.domain_name,
      serial: row.serial,
      sets: sets.filter(({ source }) => source === "user"),
      managed: sets.filter(({ source }) => source !== "user"),
      nameServers: row.name_servers,
      hostmaster: row.hostmaster,
    });
    kept.delete(found.id);
    kept.set(found.id, { revision: row.revision, zone });
    for (const oldest of kept.keys()) {
      if (kept.size <= keptMax) break;
      kept.delete(oldest);
    }
    return zone;
  };
}
