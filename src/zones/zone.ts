/** The calls about a zone as a whole: /domains/<domain_name>/dns. */
import Type, { type Static } from "typebox";
import type { Context } from "#context.ts";
import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import { refuseSigned } from "#domains/name-servers/unsigned.ts";
import { ApiError, invalidField } from "#errors.ts";
import { parseBody } from "#use-case/body.ts";
import { checkedByHand, domainName, instant, textLike } from "#use-case/docs.ts";
import type { Answer, UseCase, UseCaseRequest } from "#use-case/use-case.ts";
import { acceptedChange, changeErrors, lockOwnZone, requireVersion, writeSets } from "#zones/change.ts";
import { awaitServed, changeShape } from "#zones/changes.ts";
import { canonicalSets, parseSets, setsInput } from "#zones/records.ts";
import {
  etagOf,
  findOwnName,
  type OwnName,
  type ShownServer,
  withdrawn,
  type ZoneRow,
  zoneErrors,
} from "#zones/rows.ts";
import { zoneStates } from "#zones/states.ts";

const recordsMax = 5_000;
/** How long a withdrawn zone can be restored. */
export const restorableDays = 30;

const zoneShape = Type.Object(
  {
    domain_name: domainName,
    state: Type.Enum(zoneStates, { description: "`Active`: the name servers have the newest version." }),
    serial: Type.Integer({ examples: [1795215600] }),
    delegation: Type.Enum(["ours", "partly", "elsewhere", "none"], {
      description: "Which name servers the registry showed last.",
    }),
    problem: Type.Optional(
      Type.Enum(["ds_left"], {
        description:
          "`ds_left`: the registry shows DS records, but the zone is unsigned, so resolvers that validate refuse it.",
      }),
    ),
    until: Type.Optional(Type.String({ ...instant, description: "When a zone that is `Leaving` ends." })),
    served_at: Type.Union([instant, Type.Null()], { examples: [null] }),
    name_servers: Type.Array(
      Type.Object({
        name: textLike("ns1.dns-host.net"),
        serial: Type.Union([Type.Integer(), Type.Null()], { examples: [1795215600] }),
        is_current: Type.Boolean({ examples: [true] }),
        problem: Type.Optional(Type.String({ description: "For people." })),
      }),
    ),
    record_count: Type.Integer({ examples: [12] }),
    records_max: Type.Integer({ examples: [recordsMax] }),
  },
  { title: "Zone" },
);

function presentZone({ name, delegation, hasDs }: OwnName, zone: ZoneRow): Static<typeof zoneShape> {
  const shown = zone.shown as ShownServer[];
  const ours = delegation.filter((server) => zone.name_servers.includes(server));
  const state = ours.length === delegation.length ? "ours" : ours.length > 0 ? "partly" : "elsewhere";
  return {
    domain_name: name,
    state: zone.state,
    serial: zone.serial,
    delegation: delegation.length === 0 ? "none" : state,
    ...(hasDs && { problem: "ds_left" as const }),
    ...(zone.ends_at && { until: zone.ends_at.toISOString() }),
    served_at: zone.served_at?.toISOString() ?? null,
    name_servers: zone.name_servers.map((server) => {
      const { serial = null, problem = null } = shown.find((one) => one.name === server) ?? {};
      return { name: server, serial, is_current: serial === zone.serial, ...(problem !== null && { problem }) };
    }),
    record_count: zone.record_count,
    records_max: recordsMax,
  };
}

/** GET /domains/<domain_name>/dns */
export const readZone: UseCase = {
  errors: zoneErrors,
  scope: "dns:read",
  docs: {
    operation: "readZone",
    summary: "Reads the zone of a name: its state, and what each name server has.",
    answers: { 200: { description: "The zone.", body: zoneShape, headers: ["etag"] } },
  },
  async handle({ database }, request) {
    const own = await findOwnName(database, request);
    if (!own.zone) throw new ApiError("zone_not_found");
    return { status: 200, headers: { etag: etagOf(own.zone) }, body: presentZone(own, own.zone) };
  },
};

const putBody = Type.Object(
  {
    sets: Type.Optional(checkedByHand(setsInput)),
    delegate: Type.Optional(
      Type.Boolean({
        description: "Orders our name servers for the name, once they serve the zone.",
        examples: [true],
      }),
    ),
    restore: Type.Optional(
      Type.Boolean({ description: `Brings back the zone that you deleted in the last ${restorableDays} days.` }),
    ),
  },
  { examples: [{ sets: [{ subname: "www", type: "A", ttl: 3600, records: ["192.0.2.1"] }], delegate: true }] },
);

const lockName = statement(
  "zone-put-lock-name",
  "SELECT domain_name FROM domains WHERE domain_name = $name AND reseller_id = $reseller_id FOR NO KEY UPDATE",
  { domain_name: "text" },
);
const createZone = statement("zone-create", "SELECT zone_create($name, $reseller_id, $by, $door, $now) AS id", {
  id: "int8?",
});
const restoreZone = statement(
  "zone-restore",
  `WITH last AS (
     SELECT id FROM zones WHERE domain_name = $name AND reseller_id = $reseller_id AND withdrawn_at > $since ORDER BY id DESC LIMIT 1),
   back AS (
     UPDATE zones SET label = md5(gen_random_uuid()::text || gen_random_uuid()::text), state = 'Publishing', withdrawn_at = NULL,
       revision = revision + 1, serial = zone_serial_after(serial, $now), checks = 0, next_step_at = $now, updated_at = $now
     FROM last WHERE zones.id = last.id RETURNING zones.id, revision, serial)
   INSERT INTO zone_changes (zone_id, revision, serial, at, by, door)
   SELECT id, revision, serial, $now, $by, $door FROM back RETURNING zone_id AS id, revision`,
  { id: "int8", revision: "int8" },
);
const wantDelegation = statement(
  "zone-want-delegation",
  "UPDATE zones SET delegated_by = $by, next_step_at = $now, updated_at = $now WHERE id = $id",
  {},
);

/** PUT /domains/<domain_name>/dns: makes a zone, or asks for the delegation to it. */
export const putZone: UseCase = {
  errors: [
    ...changeErrors.filter((code) => code !== "zone_leaving"),
    "zone_leaving",
    "zone_exists",
    "dns_not_offered",
    "domain_has_ds",
  ],
  scope: "dns:update",
  docs: {
    operation: "createZone",
    summary: "Makes a zone for a name; or, where it has one, orders our name servers for the name.",
    body: putBody,
    answers: {
      202: {
        description: "The zone is made, and read at once; `location` says when the name servers have it.",
        headers: ["location", "check-after", "etag", "preference-applied?"],
      },
      200: {
        description:
          "The zone's first change, served while the request waited; or its last one, where it had the zone.",
        body: changeShape,
        headers: ["location", "etag", "preference-applied?"],
      },
    },
  },
  async handle(context, request) {
    if (context.zones.nameServers.length === 0) throw new ApiError("dns_not_offered");
    const { sets, delegate = false, restore = false } = parseBody(putBody, request.rawBody);
    const given = sets === undefined ? undefined : parseSets(sets, "sets");
    if (given && restore) throw invalidField("restore", "A zone that is restored has its own records: leave out sets.");
    const { answer, changed } = await context.database.transaction(async (tx) => {
      const own = await lockHeldName(tx, request);
      if (delegate) await refuseSigned(context, tx, own.name, ourHosts(context));
      if (own.zone && (given || restore || !delegate)) throw new ApiError("zone_exists");
      if (own.zone?.state === "Leaving") throw new ApiError("zone_leaving");
      const changed = own.zone
        ? { zone: own.zone, revision: own.zone.revision, isNew: false }
        : await makeZone(context, tx, request, { given, restore });
      if (delegate) {
        await tx.query(wantDelegation, { id: changed.zone.id, by: request.caller.keyId, now: context.clock.now() });
      }
      const answer = await acceptedChange(tx, request, { ...changed, difference: undefined as never });
      await request.commit(tx, answer);
      return { answer, changed };
    });
    return changed.isNew
      ? awaitServed(context, request, { ...changed, name: changed.zone.domain_name }, answer)
      : answer;
  },
};

const ourHosts = ({ zones }: Context) => zones.nameServers.map((name) => ({ name }));

/** The name of the path, in the caller's portfolio and locked. @throws ApiError `domain_not_found`, `zone_changed` */
async function lockHeldName(tx: Transaction, request: UseCaseRequest): Promise<OwnName> {
  const { name } = await findOwnName(tx, request);
  await tx.query(lockName, { name, reseller_id: request.caller.resellerId });
  const own = await findOwnName(tx, request);
  if (!own.isHeld && !own.zone) throw new ApiError("domain_not_found");
  requireVersion(request, own.zone);
  return own;
}

async function makeZone(
  context: Context,
  tx: Transaction,
  request: UseCaseRequest,
  { given, restore }: { given: Static<typeof setsInput> | undefined; restore: boolean },
) {
  const now = context.clock.now();
  const { resellerId: reseller_id, keyId: by } = request.caller;
  const name = (await findOwnName(tx, request)).name;
  const door = request.prefix === "/v2" ? "v2" : "v1";
  if (restore) {
    const since = new Date(now.getTime() - restorableDays * 86_400_000);
    const [back] = await tx.query(restoreZone, { name, reseller_id, by, door, now, since });
    if (!back) throw new ApiError("zone_not_found", { text: "This name has no deleted zone that can be restored." });
    return { zone: { ...(await zoneNow(tx, request)), id: back.id }, revision: back.revision, isNew: true };
  }
  const [made] = await tx.query(createZone, { name, reseller_id, by, door, now });
  if (!made?.id) {
    const text = "A zone above or below this name exists here, or the service is about to be set up for zones.";
    throw new ApiError("zone_exists", { text });
  }
  const zone = await zoneNow(tx, request);
  if (given) {
    const edit = () => canonicalSets(name, given, "sets").filter(({ records }) => records.length > 0);
    await writeSets(context, tx, request, zone, { edit, isFresh: true });
  }
  return { zone, revision: zone.revision, isNew: true };
}

async function zoneNow(tx: Transaction, request: UseCaseRequest): Promise<ZoneRow> {
  const { zone } = await findOwnName(tx, request);
  if (!zone) throw new Error("a zone that was just made is missing");
  return zone;
}

const withdraw = statement(
  "zone-withdraw",
  `UPDATE zones SET ${withdrawn}
   WHERE id = $id`,
  {},
);

const deleteQuery = Type.Object({
  confirm: Type.Optional(Type.String({ description: "Repeats the name.", examples: ["hello.example"] })),
  force: Type.Optional(Type.Boolean({ description: "Also while the registry shows our name servers." })),
});

/** DELETE /domains/<domain_name>/dns */
export const deleteZone: UseCase = {
  errors: [...changeErrors, "zone_delegated"],
  scope: "dns:update",
  docs: {
    operation: "deleteZone",
    summary: "Deletes the zone of a name, with all records.",
    description: `\`confirm\` repeats the name. For ${restorableDays} days it can be restored.`,
    query: deleteQuery,
    answers: {
      202: { description: "The zone is withdrawn; name servers drop it in a moment.", headers: ["location"] },
    },
  },
  async handle(context, request) {
    return context.database.transaction(async (tx): Promise<Answer> => {
      const zone = await lockOwnZone(tx, request);
      const { name, delegation } = await findOwnName(tx, request);
      if (request.query.get("confirm") !== name) {
        throw invalidField("confirm", "Repeat the domain name: this deletes its zone with all records.");
      }
      const isDelegated = delegation.some((server) => zone.name_servers.includes(server));
      if (isDelegated && request.query.get("force") !== "true") throw new ApiError("zone_delegated");
      await tx.query(withdraw, { id: zone.id, now: context.clock.now() });
      const answer = { status: 202, headers: { location: `${request.prefix}/domains/${name}/dns` } };
      await request.commit(tx, answer);
      return answer;
    });
  },
};
