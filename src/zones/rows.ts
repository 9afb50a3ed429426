/** Rows of zones, and of their sets, as use cases and the machine read them. */
import type { Database, Transaction } from "#db/database.ts";
import { type RowOf, statement } from "#db/statement.ts";
import { hasDs } from "#domains/name-servers/unsigned.ts";
import { ApiError } from "#errors.ts";
import { parsePathName } from "#use-case/path-name.ts";
import type { UseCaseRequest } from "#use-case/use-case.ts";
import { zoneStates } from "#zones/states.ts";

export const zoneColumns = {
  id: "int8",
  domain_name: "text",
  state: zoneStates,
  revision: "int8",
  serial: "int8",
  name_servers: "text[]",
  hostmaster: "text",
  last_record_id: "int8",
  record_count: "int4",
  served_at: "timestamptz?",
  shown: "jsonb",
  ends_at: "timestamptz?",
} as const;
export type ZoneRow = RowOf<typeof zoneColumns>;

/** SQL: the columns of a row of `zones`. @param table its name in the statement, with a dot */
const zoneSql = (table = "") =>
  Object.keys(zoneColumns)
    .map((name) => `${table}${name}`)
    .join(", ");

/** What a public name server showed last. */
export interface ShownServer {
  name: string;
  serial: number | null;
  problem: string | null;
}

// A zone outlives the name in the portfolio for a while, so either is enough.
const ownZone = statement(
  "zone-of-caller",
  `SELECT name.domain_name IS NOT NULL AS is_held, name.delegation, name.dnssec, name.registry_id, ${zoneSql("zone.")}
   FROM (SELECT $name::text AS name, $reseller_id::int8 AS reseller_id) AS asked
     LEFT JOIN domains AS name ON name.domain_name = asked.name AND name.reseller_id = asked.reseller_id
     LEFT JOIN zones AS zone ON zone.domain_name = asked.name AND zone.reseller_id = asked.reseller_id AND zone.state <> 'Withdrawn'
   WHERE name.domain_name IS NOT NULL OR zone.id IS NOT NULL` as string,
  {
    is_held: "bool",
    delegation: "jsonb?",
    dnssec: "jsonb?",
    registry_id: "text?",
    id: "int8?",
    domain_name: "text?",
    state: [...zoneStates, null],
    revision: "int8?",
    serial: "int8?",
    name_servers: "text[]?",
    hostmaster: "text?",
    last_record_id: "int8?",
    record_count: "int4?",
    served_at: "timestamptz?",
    shown: "jsonb?",
    ends_at: "timestamptz?",
  },
);

export interface OwnName {
  name: string;
  /** It is in the caller's portfolio. */
  isHeld: boolean;
  registryId: string | undefined;
  /** The name servers that the registry showed last. */
  delegation: readonly string[];
  hasDs: boolean;
  zone: ZoneRow | undefined;
}

/** The name of the path, with its zone. @throws ApiError `domain_not_valid`, `domain_not_found` */
export async function findOwnName(
  to: { query: Database["query"] | Transaction["query"] },
  { caller, params }: Pick<UseCaseRequest, "caller" | "params">,
): Promise<OwnName> {
  const name = parsePathName(params.domain_name ?? "");
  const [row] = await to.query(ownZone, { name, reseller_id: caller.resellerId });
  if (!row) throw new ApiError("domain_not_found");
  return {
    name,
    isHeld: row.is_held,
    registryId: row.registry_id ?? undefined,
    delegation: ((row.delegation ?? []) as { name: string }[]).map((server) => server.name.toLowerCase()),
    hasDs: hasDs(row.dnssec),
    zone: row.id === null ? undefined : (row as ZoneRow),
  };
}

/** @throws ApiError `domain_not_valid`, `domain_not_found`, `zone_not_found` */
export async function getOwnZone(
  to: { query: Database["query"] | Transaction["query"] },
  request: Pick<UseCaseRequest, "caller" | "params">,
): Promise<ZoneRow> {
  const { zone } = await findOwnName(to, request);
  if (!zone) throw new ApiError("zone_not_found");
  return zone;
}

/** The errors of every use case about a zone that exists. */
export const zoneErrors = ["domain_not_valid", "domain_not_found", "zone_not_found"] as const;

export const setColumns = {
  owner: "text",
  type: "text",
  source: ["user", "hosting", "service"],
  ttl: "int4",
  records: "text[]",
  ids: "text[]",
  updated_at: "timestamptz",
} as const;
export type StoredSet = RowOf<typeof setColumns>;

const setsOfZone = statement(
  "zone-sets",
  `SELECT owner, type, source, ttl, records, ids::text[] AS ids, updated_at FROM zone_sets
   WHERE zone_id = $zone_id ORDER BY owner, type, source`,
  setColumns,
);

/** The sets of a zone by owner and type: those of the reseller, and the managed ones. */
export const readSets = (to: { query: Database["query"] | Transaction["query"] }, zoneId: number) =>
  to.query(setsOfZone, { zone_id: zoneId });

export const etagOf = ({ revision }: Pick<ZoneRow, "revision">) => `"${revision}"`;

/** SQL: the columns of a zone that has ended; `$now` is a parameter. */
export const withdrawn =
  "state = 'Withdrawn', ends_at = NULL, withdrawn_at = $now, delegated_by = NULL, next_step_at = NULL, updated_at = $now";
