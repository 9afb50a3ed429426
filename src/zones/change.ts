/**
 * Changes the sets of a zone: reads the zone under its lock, lets the caller say what it is to be, checks the whole of it, and writes
 * the rows together with the change that resellers read. The zone is due from then on, until its servers show it.
 */
import type { Context } from "#context.ts";
import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import { checkZone } from "#dns/rules.ts";
import { ApiError, type ErrorCode, invalidField } from "#errors.ts";
import { checkAfter } from "#use-case/check-after.ts";
import type { Answer, UseCaseRequest } from "#use-case/use-case.ts";
import { awaitServed, lastChange, presentChange } from "#zones/changes.ts";
import { compareSets, type Difference, type WantedSet } from "#zones/edit.ts";
import { atField } from "#zones/problems.ts";
import { etagOf, findOwnName, readSets, type StoredSet, type ZoneRow, zoneErrors } from "#zones/rows.ts";

/** The errors of every use case that changes records. */
export const changeErrors = [
  "bad_request",
  ...zoneErrors,
  "zone_leaving",
  "zone_changed",
] as const satisfies readonly ErrorCode[];

// In the order of all writers: the name first, then its zone.
const lockName = statement(
  "zone-lock-name",
  "SELECT domain_name FROM domains WHERE domain_name = $name AND reseller_id = $reseller_id FOR NO KEY UPDATE",
  { domain_name: "text" },
);
const lockZone = statement(
  "zone-lock",
  "SELECT id FROM zones WHERE domain_name = $name AND state <> 'Withdrawn' FOR NO KEY UPDATE",
  { id: "int8" },
);

// A new zone has its first change already: what it begins with belongs to that.
const writeChange = statement(
  "zone-change",
  `WITH changed AS (
     UPDATE zones SET revision = revision + $steps::int4,
       serial = CASE $steps::int4 WHEN 0 THEN serial ELSE zone_serial_after(serial, $now) END,
       state = 'Publishing', checks = 0, next_step_at = $now, updated_at = $now,
       last_record_id = $last_record_id, record_count = $record_count
     WHERE id = $id RETURNING id, revision, serial),
   gone AS (
     DELETE FROM zone_sets USING jsonb_to_recordset($gone::jsonb) AS leaving (owner text, type text)
     WHERE zone_id = $id AND source = 'user' AND zone_sets.owner = leaving.owner AND zone_sets.type = leaving.type),
   written AS (
     INSERT INTO zone_sets (zone_id, owner, type, ttl, records, ids, updated_at)
     SELECT $id, owner, type, ttl, records, ids, $now
     FROM jsonb_to_recordset($written::jsonb) AS given (owner text, type text, ttl int4, records text[], ids int8[])
     ON CONFLICT (zone_id, owner, type, source) DO UPDATE
       SET ttl = excluded.ttl, records = excluded.records, ids = excluded.ids, updated_at = excluded.updated_at)
   INSERT INTO zone_changes (zone_id, revision, serial, at, by, door, added, removed)
   SELECT id, revision, serial, $now, $by, $door, $added, $removed FROM changed
   ON CONFLICT (zone_id, revision) DO UPDATE SET added = excluded.added, by = excluded.by, door = excluded.door
   RETURNING revision`,
  { revision: "int8" },
);

const usualSecondsDefault = 2;
const usualSeconds = statement(
  "zone-usual-seconds",
  `SELECT CASE WHEN count(*) < 20 THEN ${usualSecondsDefault} ELSE ceil(percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds)) END::int4 AS seconds
   FROM (SELECT extract(epoch FROM served_at - at) AS seconds FROM zone_changes WHERE served_at IS NOT NULL ORDER BY at DESC LIMIT 100) AS recent`,
  { seconds: "int4" },
);

/** What a change makes of the zone. @throws ApiError */
export type Edit = (own: readonly StoredSet[], zone: ZoneRow, all: readonly StoredSet[]) => readonly WantedSet[];

/** A change that was made, or was not needed. */
export interface Changed {
  zone: ZoneRow;
  difference: Difference;
  /** The change that has the zone as it is now. */
  revision: number;
  isNew: boolean;
}

/** The zone of the path, locked with its name. @throws ApiError of `changeErrors` */
export async function lockOwnZone(tx: Transaction, request: UseCaseRequest): Promise<ZoneRow> {
  const { name, zone: seen } = await findOwnName(tx, request);
  await tx.query(lockName, { name, reseller_id: request.caller.resellerId });
  await tx.query(lockZone, { name });
  const { zone } = await findOwnName(tx, request);
  if (!zone) throw new ApiError(seen ? "zone_changed" : "zone_not_found");
  requireVersion(request, zone);
  if (zone.state === "Leaving") throw new ApiError("zone_leaving");
  return zone;
}

/** @throws ApiError `zone_changed` */
export function requireVersion({ ifMatch }: UseCaseRequest, zone: ZoneRow | undefined): void {
  if (ifMatch === undefined || ifMatch.trim() === "*") return;
  const given = ifMatch.split(",").map((entry) => entry.trim());
  if (!zone || !given.includes(etagOf(zone))) throw new ApiError("zone_changed");
}

/** In place of a request's: what a name server had is taken over (src/zones/servers/adopt.ts). */
export const adoptedPrefix = "adopted";

/** Checks what the zone is to be, and writes it unless nothing is changed. @throws ApiError `bad_request` */
export async function writeSets(
  { clock }: Pick<Context, "clock">,
  tx: Transaction,
  by: { caller: { keyId: string | null }; prefix: string },
  zone: ZoneRow,
  { edit, isFresh = false, isDry = false }: { edit: Edit; isFresh?: boolean; isDry?: boolean },
): Promise<Changed> {
  const all = await readSets(tx, zone.id);
  const own = all.filter(({ source }) => source === "user");
  const wanted = edit(own, zone, all);
  atField("", () => checkZone(zone.domain_name, wanted));
  const difference = compareSets(own, wanted, zone.last_record_id);
  const isNothing = difference.written.length === 0 && difference.gone.length === 0;
  if (isNothing || isDry) return { zone, difference, revision: zone.revision, isNew: false };
  const { gone, written, added, removed, lastRecordId, recordCount } = difference;
  const [row] = await tx.query(writeChange, {
    id: zone.id,
    steps: isFresh ? 0 : 1,
    now: clock.now(),
    last_record_id: lastRecordId,
    record_count: recordCount,
    gone: JSON.stringify(gone),
    written: JSON.stringify(written),
    added: JSON.stringify(added),
    removed: JSON.stringify(removed),
    by: by.caller.keyId,
    door: by.prefix === "/v2" ? "v2" : by.prefix === adoptedPrefix ? "adopted" : "v1",
  });
  if (!row) throw new Error("a locked zone was not written");
  return { zone, difference, revision: row.revision, isNew: true };
}

/** Whether the caller only asks what would happen. @throws ApiError `bad_request` */
function isDryRun({ query }: UseCaseRequest): boolean {
  const given = query.get("dry_run") ?? "false";
  if (given !== "true" && given !== "false") throw invalidField("dry_run", "Give true or false.");
  return given === "true";
}

/**
 * Answers a change of records of the zone in the path, for clients that know no changes.
 * @throws ApiError of `changeErrors`
 */
export function changeAtOnce(
  context: Context,
  request: UseCaseRequest,
  edit: Edit,
  answerOf: (changed: Changed) => Answer,
): Promise<Answer> {
  return context.database.transaction(async (tx) => {
    const zone = await lockOwnZone(tx, request);
    const answer = answerOf(await writeSets(context, tx, request, zone, { edit }));
    await request.commit(tx, answer);
    return answer;
  });
}

/**
 * Answers a change of records of the zone in the path.
 * @param headers of the answer, once the change is known to be valid
 * @throws ApiError of `changeErrors`
 */
export async function changeRecords(
  context: Context,
  request: UseCaseRequest,
  edit: Edit,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const isDry = isDryRun(request);
  const { answer, changed } = await context.database.transaction(async (tx) => {
    const zone = await lockOwnZone(tx, request);
    const changed = await writeSets(context, tx, request, zone, { edit, isDry });
    if (isDry) return { answer: dryAnswer(changed, headers), changed };
    const answer = await acceptedChange(tx, request, changed, headers);
    await request.commit(tx, answer);
    return { answer, changed };
  });
  return changed.isNew ? awaitServed(context, request, { ...changed, name: changed.zone.domain_name }, answer) : answer;
}

function dryAnswer({ difference: { added, removed } }: Changed, headers: Record<string, string>): Answer {
  return { status: 200, headers, body: { added, removed } };
}

/** 202 and where to follow the change; 200 and the last change when nothing was changed. */
export async function acceptedChange(
  tx: Transaction,
  { prefix }: UseCaseRequest,
  { zone, revision, isNew }: Changed,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const etag = etagOf({ revision });
  const location = `${prefix}/domains/${zone.domain_name}/dns/changes/${revision}`;
  if (!isNew) {
    const last = await lastChange(tx, zone.id, revision);
    return { status: 200, headers: { location, etag, ...headers }, body: presentChange(last) };
  }
  const [usual] = await tx.query(usualSeconds, {});
  return {
    status: 202,
    headers: { location, etag, "check-after": checkAfter(usual?.seconds ?? usualSecondsDefault), ...headers },
  };
}
