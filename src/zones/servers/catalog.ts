/**
 * The catalog zone, which tells name servers what zones there are (RFC 9432), and the beacon, a zone whose serial rises every minute:
 * what a name server shows of it is proof of the database that it was fed from.
 */
import type { Context } from "#context.ts";
import type { Database } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import { isAtLeast } from "#dns/serials.ts";
import { type ServedSet, type ServedZone, servedZone } from "#dns/served-zone.ts";

export const catalogName = (label: string) => `${label}.zones.invalid`;
export const beaconName = (label: string) => `beacon.${catalogName(label)}`;
/** The beacon's own label in the catalog; those of zones are random. */
const beaconLabel = "beacon";
const noServer = { nameServers: ["invalid"], hostmaster: "invalid", managed: [], sets: [] };

const labelBytes = 8;
const createCatalog = statement(
  "catalog-create",
  `INSERT INTO zone_catalog (label, serial) VALUES ($label, zone_serial_after(NULL, $now)) ON CONFLICT (is_only) DO NOTHING`,
  {},
);
const catalogRow = statement("catalog", "SELECT label, serial FROM zone_catalog", { label: "text", serial: "int8" });

/** Makes the catalog with the first name server. */
export async function ensureCatalog(context: Pick<Context, "database" | "random" | "clock">): Promise<string> {
  const label = context.random.bytes(labelBytes).toString("hex");
  await context.database.query(createCatalog, { label, now: context.clock.now() });
  return (await readCatalog(context))!.label;
}

/** Undefined before the first name server. */
export async function readCatalog({ database }: { database: Database }) {
  const [row] = await database.query(catalogRow, {});
  return row;
}

const members = statement(
  "catalog-members",
  `SELECT label, serial, coalesce((SELECT array_agg(zones.label || ' ' || zones.domain_name ORDER BY zones.id) FROM zones
     WHERE state <> 'Withdrawn'), '{}') AS members FROM zone_catalog` as string,
  { label: "text", serial: "int8", members: "text[]" },
);

/** The catalog as it is now. */
export async function findCatalog({ database }: { database: Database }): Promise<ServedZone | undefined> {
  const [row] = await database.query(members, {});
  if (!row) return undefined;
  const pointer = (label: string, name: string): ServedSet => ({
    owner: `${label}.zones`,
    type: "PTR",
    ttl: 0,
    records: [`${name}.`],
  });
  const zone = servedZone({ ...noServer, name: catalogName(row.label), serial: row.serial });
  const version: ServedSet = { owner: "version", type: "TXT", ttl: 0, records: ['"2"'] };
  const pointers = row.members.map((member) => pointer(...(member.split(" ") as [string, string])));
  return { ...zone, sets: [...zone.sets, version, pointer(beaconLabel, beaconName(row.label)), ...pointers] };
}

const newestBeacon = statement(
  "beacon-newest",
  "SELECT serial FROM zone_beacons ORDER BY at DESC, serial DESC LIMIT 1",
  { serial: "int8" },
);

export async function findBeacon({ database }: { database: Database }, label: string): Promise<ServedZone | undefined> {
  const [row] = await database.query(newestBeacon, {});
  return row && servedZone({ ...noServer, name: beaconName(label), serial: row.serial });
}

const issueBeacon = statement(
  "beacon-issue",
  `INSERT INTO zone_beacons (serial, at)
   SELECT zone_serial_after((SELECT serial FROM zone_beacons ORDER BY at DESC, serial DESC LIMIT 1), $now), $now
   FROM zone_catalog ON CONFLICT (serial) DO NOTHING`,
  {},
);
const beaconKeptDays = 30;
const dropBeacons = statement(
  "beacons-drop",
  `DELETE FROM zone_beacons WHERE serial IN (
     SELECT serial FROM zone_beacons WHERE at < $now::timestamptz - interval '${beaconKeptDays} days' ORDER BY at LIMIT 1000)`,
  {},
);

/** Issues the next serial of the beacon. */
export async function issueNextBeacon({ database, clock }: Pick<Context, "database" | "clock">): Promise<void> {
  const now = clock.now();
  await database.query(issueBeacon, { now });
  await database.query(dropBeacons, { now });
}

const beaconKnown = statement(
  "beacon-known",
  `SELECT EXISTS (SELECT FROM zone_beacons WHERE serial = $serial) AS is_known,
     (SELECT serial FROM zone_beacons ORDER BY at, serial LIMIT 1) AS oldest`,
  { is_known: "bool", oldest: "int8?" },
);

/** Whether this database, and no later state of it, may have issued that serial. */
export async function isOwnBeacon({ database }: { database: Database }, serial: number): Promise<boolean> {
  const [row] = await database.query(beaconKnown, { serial });
  if (row!.is_known) return true;
  return row!.oldest !== null && serial !== row!.oldest && isAtLeast(row!.oldest, serial);
}

const adoptSerial = statement(
  "beacon-adopt",
  "INSERT INTO zone_beacons (serial, at) VALUES ($serial, $at) ON CONFLICT (serial) DO NOTHING",
  {},
);

/** From now on this serial counts as one of this database's. */
export const acceptBeacon = ({ database }: { database: Database }, serial: number): Promise<unknown> =>
  database.query(adoptSerial, { serial, at: new Date(serial * 1_000) });

const manyZones = 5_000;
const gatherMs = 1_000;
const gatherManyMs = 5_000;

// Compared as a whole: a transaction may commit after one that began later.
const raiseSerial = statement(
  "catalog-raise",
  `WITH present AS MATERIALIZED (
     SELECT count(*) AS count, md5(coalesce(string_agg(label, ' ' ORDER BY id), '')) AS hash FROM zones WHERE state <> 'Withdrawn'),
   raised AS (
     UPDATE zone_catalog SET serial = zone_serial_after(serial, $now), members_hash = present.hash FROM present
     WHERE members_hash <> present.hash RETURNING serial)
   SELECT present.count, (SELECT serial FROM raised) AS raised FROM present WHERE EXISTS (SELECT FROM zone_catalog)` as string,
  { count: "int8", raised: "int8?" },
);

/**
 * Issues a new serial of the catalog if there are other zones than before.
 * @returns when to look again: each new serial makes a name server check all of its zones
 */
export async function raiseCatalog({ database, clock }: Pick<Context, "database" | "clock">) {
  const [row] = await database.query(raiseSerial, { now: clock.now() });
  return { isRaised: typeof row?.raised === "number", nextMs: (row?.count ?? 0) > manyZones ? gatherManyMs : gatherMs };
}
