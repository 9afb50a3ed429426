/**
 * After a restore of the database: takes over what a name server has and this database does not know, and then lets the name servers
 * have zones again. Every zone gets a new serial, later than all that were lost, so that no server keeps what it has.
 */
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { transferZone } from "#dns/client.ts";
import { OperatorError } from "#operator-error.ts";
import { adoptedPrefix, writeSets } from "#zones/change.ts";
import { readSets, type ZoneRow, zoneColumns } from "#zones/rows.ts";
import { acceptBeacon, catalogName, readCatalog } from "#zones/servers/catalog.ts";
import { findServer } from "#zones/servers/manage.ts";
import { knownServer, listServers } from "#zones/servers/rows.ts";
import { differences, readMembers, readTransferred, type TransferredZone } from "#zones/servers/transferred.ts";

type AdoptContext = Pick<Context, "database" | "sealer" | "random" | "clock" | "log">;

const holder = statement(
  "adopt-holder",
  `SELECT domains.reseller_id, EXISTS (SELECT FROM zones JOIN zone_changes ON zone_id = zones.id
     WHERE zones.domain_name = $name AND zone_changes.serial = $serial) AS is_known,
     (SELECT id FROM zones WHERE domain_name = $name AND state <> 'Withdrawn') AS zone_id
   FROM (SELECT 1) AS one LEFT JOIN domains ON domains.domain_name = $name` as string,
  { reseller_id: "int8?", is_known: "bool", zone_id: "int8?" },
);
const lockName = statement(
  "adopt-lock-name",
  "SELECT domain_name FROM domains WHERE domain_name = $name AND reseller_id = $reseller_id FOR NO KEY UPDATE",
  { domain_name: "text" },
);
const createZone = statement("adopt-create", "SELECT zone_create($name, $reseller_id, NULL, 'adopted', $now) AS id", {
  id: "int8?",
});
// As the name server has it: with another label it would drop the zone, and its keys, before it takes it again.
const takeLabel = statement("adopt-label", "UPDATE zones SET label = $label WHERE id = $id", {});
const zoneById = statement(
  "adopt-zone",
  `SELECT ${Object.keys(zoneColumns).join(", ")} FROM zones WHERE id = $id FOR NO KEY UPDATE` as string,
  zoneColumns,
);

export interface Found {
  zone: string;
  /** "differs" and "missing" are taken over; "no_holder" is in no portfolio here. */
  status: "differs" | "missing" | "no_holder";
  only_there: string[];
  only_here: string[];
}

/** Compares, and with `isDry: false` takes over what names in a portfolio have there. @throws OperatorError, NoAnswer */
export async function adoptZones(context: AdoptContext, id: string, isDry: boolean): Promise<Found[]> {
  const server = knownServer(await findServer(context, id));
  const catalog = await readCatalog(context);
  if (!catalog) throw new OperatorError("refused", "there is no catalog yet");
  const found: Found[] = [];
  const members = readMembers(catalog.label, await transferZone(context, server, catalogName(catalog.label)));
  for (const { label, name } of members) {
    const theirs = readTransferred(name, await transferZone(context, server, name));
    const one = await compareOne(context, { label, name, theirs }, isDry);
    if (one) found.push(one);
  }
  return found;
}

async function compareOne(
  context: AdoptContext,
  { label, name, theirs }: { label: string; name: string; theirs: TransferredZone },
  isDry: boolean,
): Promise<Found | undefined> {
  const { database, clock } = context;
  const [row] = await database.query(holder, { name, serial: theirs.serial });
  const { reseller_id, is_known: isKnown, zone_id } = row!;
  if (isKnown && zone_id !== null) return undefined;
  const before = zone_id === null ? [] : await readSets(database, zone_id);
  const difference = differences(theirs.sets, before as never);
  if (reseller_id === null) return { zone: name, status: "no_holder", ...difference };
  const found: Found = { zone: name, status: zone_id === null ? "missing" : "differs", ...difference };
  if (isDry) return found;
  await database.transaction(async (tx) => {
    const [held] = await tx.query(lockName, { name, reseller_id });
    const made = held && zone_id === null ? await tx.query(createZone, { name, reseller_id, now: clock.now() }) : [];
    const id = zone_id ?? made[0]?.id;
    if (!held || !id) throw new OperatorError("refused", `${name} was changed meanwhile: repeat the command`);
    await tx.query(takeLabel, { id, label });
    const [zone] = await tx.query(zoneById, { id });
    const managed = (await readSets(tx, id)).filter(({ source }) => source !== "user");
    const wanted = theirs.sets.filter((set) => differences([set], managed as never).only_there.length > 0);
    const by = { caller: { keyId: null }, prefix: adoptedPrefix };
    await writeSets(context, tx, by, zone as ZoneRow, { edit: () => wanted });
  });
  return found;
}

const zonesAtOnce = 500;
// The serial of a time after the loss is later than each that was lost.
const renewSerials = statement(
  "zones-renew-serials",
  `WITH some AS (SELECT id FROM zones WHERE id > $after AND state <> 'Withdrawn' ORDER BY id LIMIT ${zonesAtOnce} FOR NO KEY UPDATE),
   changed AS (
     UPDATE zones SET revision = revision + 1, serial = zone_serial_after(serial, $now), checks = 0, next_step_at = $now, updated_at = $now,
       state = CASE state WHEN 'Active' THEN 'Publishing' ELSE state END
     FROM some WHERE zones.id = some.id RETURNING zones.id, revision, serial),
   noted AS (
     INSERT INTO zone_changes (zone_id, revision, serial, at, door) SELECT id, revision, serial, $now, 'restored' FROM changed)
   SELECT max(id) AS last FROM changed` as string,
  { last: "int8?" },
);
const renewCatalog = statement(
  "catalog-renew",
  "UPDATE zone_catalog SET serial = zone_serial_after(serial, $now), members_hash = ''",
  {},
);
const openFeeds = statement(
  "name-servers-open",
  "UPDATE name_servers SET is_ahead = false, proven_at = NULL, problem = NULL WHERE is_ahead",
  {},
);

/** From now on what this database has replaces what the name servers have. */
export async function openFeed(context: AdoptContext): Promise<string[]> {
  const { database, clock } = context;
  const ahead = (await listServers(context)).filter(({ is_ahead: isAhead }) => isAhead);
  for (let after: number | null = 0; after !== null; ) {
    const [row]: { last: number | null }[] = await database.query(renewSerials, { after, now: clock.now() });
    after = row?.last ?? null;
  }
  await database.query(renewCatalog, { now: clock.now() });
  for (const { beacon_serial: serial } of ahead) if (serial !== null) await acceptBeacon(context, serial);
  await database.query(openFeeds, {});
  return ahead.map(({ id }) => id);
}
