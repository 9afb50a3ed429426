/** The step of a zone: asks the name servers what they serve, writes it, and then orders the delegation to them for who asked. */
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { nameserversKind } from "#domains/kinds/nameservers.ts";
import { refuseSigned } from "#domains/name-servers/unsigned.ts";
import { insertOrder } from "#domains/orders/place.ts";
import { ApiError } from "#errors.ts";
import { askSerial } from "#lib/net/name-lookups.ts";
import { newOrderCode } from "#lib/order-code.ts";
import { type ShownServer, withdrawn } from "#zones/rows.ts";
import { zoneStates } from "#zones/states.ts";

/** After a change the servers are asked again after these times, each twice the one before. */
const checkFirstMs = 20;
const checkMsMax = 60_000;
/** An event each time would drown the others where a program changes a zone all day. */
const toldSecondsMin = 60;
const orderRetryMs = 60_000;

const zoneById = statement(
  "zone-step",
  `SELECT zone.id, zone.domain_name, zone.reseller_id, zone.state, zone.revision, zone.serial, zone.name_servers, zone.checks,
     zone.ends_at, zone.delegated_by, zone.version, zone.served_revision
   FROM zones AS zone WHERE id = $id`,
  {
    id: "int8",
    domain_name: "text",
    reseller_id: "int8",
    state: zoneStates,
    revision: "int8",
    serial: "int8",
    name_servers: "text[]",
    checks: "int4",
    ends_at: "timestamptz?",
    delegated_by: "text?",
    version: "int8",
    served_revision: "int8",
  },
);
type Zone = NonNullable<(typeof zoneById)["row"]>;

// What they showed is true of that version, whatever has changed meanwhile: a zone that changes all the time is served, too.
const writeServed = statement(
  "zone-served",
  `WITH served AS (
     UPDATE zones SET served_revision = $revision, served_at = $now, shown = $shown, updated_at = $now,
       told_at = CASE WHEN told_at > $now::timestamptz - interval '${toldSecondsMin} seconds' THEN told_at ELSE $now END,
       state = CASE WHEN state = 'Publishing' AND revision = $revision THEN 'Active' ELSE state END,
       checks = CASE WHEN revision = $revision THEN 0 ELSE checks END,
       next_step_at = CASE WHEN revision <> $revision THEN next_step_at WHEN state = 'Leaving' THEN ends_at
         WHEN delegated_by IS NOT NULL THEN $now END
     WHERE id = $id AND served_revision <= $revision AND state <> 'Withdrawn' RETURNING id)
   UPDATE zone_changes SET served_at = $now FROM served
   WHERE zone_id = served.id AND revision <= $revision AND zone_changes.served_at IS NULL` as string,
  {},
);

const writeOld = statement(
  "zone-not-served",
  `UPDATE zones SET shown = $shown, checks = checks + 1, updated_at = $now, next_step_at = least($next, ends_at)
   WHERE id = $id AND version = $version`,
  {},
);

const writeEnd = statement(
  "zone-end",
  `UPDATE zones SET ${withdrawn}
   WHERE id = $id AND version = $version AND state = 'Leaving'`,
  {},
);

const writeIdle = statement(
  "zone-idle",
  "UPDATE zones SET next_step_at = ends_at, delegated_by = NULL WHERE id = $id AND version = $version",
  {},
);

const lockName = statement(
  "zone-delegate-name",
  "SELECT domain_name, registry_id FROM domains WHERE domain_name = $name AND reseller_id = $reseller_id FOR NO KEY UPDATE",
  { domain_name: "text", registry_id: "text" },
);
const lockWish = statement(
  "zone-delegate-wish",
  "SELECT id FROM zones WHERE id = $id AND version = $version FOR NO KEY UPDATE",
  { id: "int8" },
);
const postponeWish = statement(
  "zone-delegate-later",
  "UPDATE zones SET next_step_at = $next WHERE id = $id AND version = $version",
  {},
);

/** One step of the machine `zones`. */
export async function advanceZone(context: Context, id: number, signal: AbortSignal): Promise<void> {
  const { database, clock } = context;
  const [zone] = await database.query(zoneById, { id });
  if (!zone) return;
  const { state, ends_at: endsAt, version } = zone;
  if (state === "Leaving" && endsAt! <= clock.now()) {
    await database.query(writeEnd, { id, version, now: clock.now() });
    return;
  }
  if (state === "Withdrawn") {
    await database.query(writeIdle, { id, version });
    return;
  }
  if (zone.served_revision === zone.revision && state !== "Publishing") {
    if (state === "Active" && zone.delegated_by !== null) await orderDelegation(context, zone);
    else await database.query(writeIdle, { id, version });
    return;
  }
  await check(context, zone, signal);
}

async function check({ database, clock, zones }: Context, zone: Zone, signal: AbortSignal): Promise<void> {
  const { id, revision, version, checks } = zone;
  const { serial, problem: code } = await askSerial(zones, zone.domain_name, signal);
  const answer = { serial, problem: code && `It did not answer as it should: ${code}.` };
  const now = clock.now();
  // The one public server has all the names, until servers are added.
  const shown = JSON.stringify(zone.name_servers.map((name): ShownServer => ({ name, ...answer })));
  if (answer.serial !== null && isAtLeast(answer.serial, zone.serial)) {
    await database.query(writeServed, { id, revision, now, shown });
    return;
  }
  const next = new Date(now.getTime() + Math.min(checkFirstMs * 2 ** Math.min(checks, 20), checkMsMax));
  await database.query(writeOld, { id, version, now, shown, next });
}

/** Compares serials as RFC 1982 §3.2 does. */
export const isAtLeast = (serial: number, wanted: number): boolean => (serial - wanted) >>> 0 < 2 ** 31;

/** The order is placed in the transaction that forgets the wish, so it is placed once. */
async function orderDelegation(context: Context, zone: Zone): Promise<void> {
  const { database, clock, random } = context;
  const { id, version } = zone;
  const names = zone.name_servers.map((name) => ({ name }));
  try {
    await database.transaction(async (tx) => {
      const [name] = await tx.query(lockName, { name: zone.domain_name, reseller_id: zone.reseller_id });
      const [wish] = await tx.query(lockWish, { id, version });
      if (!wish) return;
      await tx.query(writeIdle, { id, version });
      if (!name) return;
      await refuseSigned(context, tx, zone.domain_name, names);
      const code = newOrderCode(random, "CHG");
      const note = `by key ${zone.delegated_by}, once the zone was served`;
      const order = { code, resellerId: zone.reseller_id, kind: nameserversKind, input: { name_servers: names }, note };
      await insertOrder({ clock }, tx, name, order);
    });
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    // Too many open orders, or DS records that have come meanwhile: the wish waits until they are gone.
    await database.query(postponeWish, { id, version, next: new Date(clock.now().getTime() + orderRetryMs) });
  }
}
