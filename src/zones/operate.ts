/** What an operator sees of zones, and the end of one that leaves before its time. */
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { OperatorError } from "#operator-error.ts";
import { readSets, type ShownServer, withdrawn } from "#zones/rows.ts";
import { type ZoneState, zoneStates } from "#zones/states.ts";

const columns = {
  domain_name: "text",
  reseller: "text",
  state: zoneStates,
  serial: "int8",
  record_count: "int4",
  served_at: "timestamptz?",
  ends_at: "timestamptz?",
} as const;
const listed = "zone.domain_name, reseller.name AS reseller, state, serial, record_count, served_at, ends_at";

// Those that name servers do not show yet come first.
const zones = statement(
  "operator-zones",
  `SELECT ${listed} FROM zones AS zone JOIN resellers AS reseller ON reseller.id = zone.reseller_id
   WHERE CASE WHEN $state::text IS NULL THEN state <> 'Withdrawn' ELSE state = $state END
     AND ($reseller_id::int8 IS NULL OR zone.reseller_id = $reseller_id)
   ORDER BY state <> 'Publishing', zone.domain_name, zone.id DESC LIMIT $rows_max`,
  columns,
);

interface Filter {
  state: ZoneState | undefined;
  resellerId: number | undefined;
  limit: number;
}

type ZonesContext = Pick<Context, "database" | "clock">;

export function listZones({ database }: ZonesContext, { state, resellerId, limit }: Filter) {
  return database.query(zones, { state: state ?? null, reseller_id: resellerId ?? null, rows_max: limit });
}

const latestZone = statement(
  "operator-zone",
  `SELECT zone.id, ${listed}, zone.name_servers, shown, label, zone.created_at, withdrawn_at, next_step_at,
     (SELECT jsonb_agg(server ->> 'name') FROM domains AS held
        CROSS JOIN LATERAL jsonb_array_elements(held.delegation) AS server
      WHERE held.domain_name = zone.domain_name AND held.reseller_id = zone.reseller_id) AS delegation
   FROM zones AS zone JOIN resellers AS reseller ON reseller.id = zone.reseller_id
   WHERE zone.domain_name = $name ORDER BY state = 'Withdrawn', zone.id DESC LIMIT 1`,
  {
    id: "int8",
    ...columns,
    name_servers: "text[]",
    shown: "jsonb",
    label: "text",
    created_at: "timestamptz",
    withdrawn_at: "timestamptz?",
    next_step_at: "timestamptz?",
    delegation: "jsonb?",
  },
);

const changesShownMax = 20;
const recentChanges = statement(
  "operator-zone-changes",
  `SELECT revision AS change_id, serial, at, by, door, served_at FROM zone_changes WHERE zone_id = $zone_id
   ORDER BY revision DESC LIMIT ${changesShownMax}` as string,
  { change_id: "int8", serial: "int8", at: "timestamptz", by: "text?", door: "text", served_at: "timestamptz?" },
);

/** Everything about the zone that a name has, or had last. @throws OperatorError when it never had one */
export async function reportZone({ database }: ZonesContext, name: string) {
  const [found] = await database.query(latestZone, { name });
  if (!found) throw new OperatorError("not-found", `${name} has no zone`);
  const { id, shown, name_servers: names, delegation, ...zone } = found;
  const [sets, changes] = await Promise.all([readSets(database, id), database.query(recentChanges, { zone_id: id })]);
  return {
    ...zone,
    delegation: delegation as string[] | null,
    name_servers: names.map((server) => {
      const { serial = null, problem = null } = (shown as ShownServer[]).find((one) => one.name === server) ?? {};
      return { name: server, serial, problem };
    }),
    records: sets.flatMap(({ owner, type, source, ttl, records }) =>
      records.map((content) => ({ subname: owner, ttl, type, content, managed_by: source === "user" ? null : source })),
    ),
    changes,
  };
}

const withdraw = statement(
  "operator-zone-withdraw",
  `UPDATE zones SET ${withdrawn}
   WHERE domain_name = $name AND state = 'Leaving' RETURNING id`,
  { id: "int8" },
);

/** The zone that will be withdrawn. @throws OperatorError when the name has none that leaves */
export async function getLeavingZone(context: ZonesContext, name: string) {
  const zone = await reportZone(context, name);
  if (zone.state === "Leaving") return zone;
  const why =
    zone.state === "Withdrawn"
      ? "is withdrawn already"
      : `is ${zone.state}: the name is in the portfolio of ${zone.reseller}, who can delete its zone`;
  throw new OperatorError("refused", `the zone of ${name} ${why}`);
}

/** Ends a zone whose name has left, as if its time were over. @throws OperatorError */
export async function withdrawZone(context: ZonesContext, name: string): Promise<void> {
  await getLeavingZone(context, name);
  const [row] = await context.database.query(withdraw, { name, now: context.clock.now() });
  if (!row) throw new OperatorError("refused", `the zone of ${name} has just changed: look at it again`);
}
