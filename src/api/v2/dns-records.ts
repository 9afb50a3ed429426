/** Records of a zone one by one, as /v2 has them: the use cases are those of sets. */
import Type, { type Static } from "typebox";
import { type DnsRecord, presentRecord, recordFields, recordShape, recordsOf, textOf } from "#api/v2/dns-record.ts";
import { parseRecordSet } from "#dns/records.ts";
import { ApiError } from "#errors.ts";
import { parseBody } from "#use-case/body.ts";
import { pageOf, pagingQuery } from "#use-case/docs.ts";
import { answerFewRows } from "#use-case/paging.ts";
import type { UseCase } from "#use-case/use-case.ts";
import { changeAtOnce, changeErrors } from "#zones/change.ts";
import { keyOf, toRecordSet, type WantedSet } from "#zones/edit.ts";
import { atField } from "#zones/problems.ts";
import { visibleSets } from "#zones/records.ts";
import { getOwnZone, readSets, type StoredSet, zoneErrors } from "#zones/rows.ts";

/** GET /v2/dns/<domain_name>/records */
export const listDnsRecords: UseCase = {
  errors: ["invalid_paging_request", ...zoneErrors],
  scope: "dns:read",
  docs: {
    operation: "listDnsRecords",
    summary: "Lists the records of a zone one by one.",
    query: Type.Object({
      ...pagingQuery,
      type: Type.Optional(Type.String({ description: "Only records of this type." })),
      record_name: Type.Optional(Type.String({ description: "Only records at this name; `@` is the name itself." })),
      service: Type.Optional(Type.String({ description: "Only SRV records of this service, such as `_sip`." })),
    }),
    answers: { 200: pageOf(recordShape) },
  },
  async handle({ database, ...context }, request) {
    const zone = await getOwnZone(database, request);
    const filters = ["type", "record_name", "service"].flatMap((name): [string, string][] => {
      const value = request.query.get(name);
      return value === null || value === "" ? [] : [[name, value]];
    });
    const isWanted = (record: DnsRecord) =>
      filters.every(([name, value]) => String(presentRecord(record)[name as "type"]).toLowerCase() === value);
    const records = recordsOf(zone, visibleSets(await readSets(database, zone.id))).filter(isWanted);
    const filter = new URLSearchParams(filters).toString();
    const list = { path: `/dns/${zone.domain_name}/records`, filter };
    return answerFewRows({ database, ...context }, request, records, list, presentRecord);
  },
};

/** GET /v2/dns/<domain_name>/records/<record_id> */
export const readDnsRecord: UseCase = {
  errors: [...zoneErrors, "record_not_found"],
  scope: "dns:read",
  docs: {
    operation: "readDnsRecord",
    summary: "Reads one record.",
    answers: { 200: { description: "The record.", body: recordShape } },
  },
  async handle({ database }, request) {
    const zone = await getOwnZone(database, request);
    const records = recordsOf(zone, visibleSets(await readSets(database, zone.id)));
    const found = records.find(({ id }) => id === request.params.record_id);
    if (!found) throw new ApiError("record_not_found");
    return { status: 200, body: presentRecord(found) };
  },
};

const example = { type: "A", record_name: "www", ttl: 3600, content: "192.0.2.1" };
const createBody = Type.Object({ ...recordFields, type: Type.String({ examples: ["A"] }) }, { examples: [example] });
const updateBody = Type.Object(recordFields, { examples: [{ content: "192.0.2.2" }] });

/** POST /v2/dns/<domain_name>/records: it joins its set, and its TTL becomes the set's. */
export const createDnsRecord: UseCase = {
  errors: changeErrors,
  scope: "dns:update",
  docs: {
    operation: "createDnsRecord",
    summary: "Adds a record.",
    description: "It joins the records of its name and type, which all get its `ttl`. One that exists is the answer.",
    body: createBody,
    answers: { 201: { description: "The record is read at once.", headers: ["location"] } },
  },
  async handle(context, request) {
    const given = parseBody(createBody, request.rawBody);
    let placed: Placed | undefined;
    return changeAtOnce(
      context,
      request,
      (own, { domain_name: zone }) => {
        placed = place(zone, own, { ...given, type: given.type });
        return placed.sets;
      },
      ({ zone, difference }) => {
        const { set, text } = placed!;
        const written = difference.written.find((one) => keyOf(one) === keyOf(set));
        const ids = written?.ids ?? set.ids ?? [];
        const id = ids[(written ?? set).records.indexOf(text)];
        return { status: 201, headers: { location: `${request.prefix}/dns/${zone.domain_name}/records/${id}` } };
      },
    );
  },
};

/** PUT /v2/dns/<domain_name>/records/<record_id>: it keeps its id. */
export const updateDnsRecord: UseCase = {
  errors: [...changeErrors, "record_not_found", "record_managed"],
  scope: "dns:update",
  docs: {
    operation: "updateDnsRecord",
    summary: "Changes a record, which keeps its id.",
    description: "What is left out of `type`, `record_name` and `ttl` stays.",
    body: updateBody,
    answers: { 200: { description: "The record.", body: recordShape } },
  },
  async handle(context, request) {
    const given = parseBody(updateBody, request.rawBody);
    const id = request.params.record_id ?? "";
    let placed: Placed | undefined;
    return changeAtOnce(
      context,
      request,
      (own, zone, all) => {
        const record = findOwn(recordsOf(zone, all), id);
        const { type, record_name, service, protocol, ttl } = presentRecord(record);
        const srv = service === null || protocol === null ? {} : { service, protocol };
        const wanted = { type, record_name, ttl, ...srv, ...given };
        placed = place(zone.domain_name, withoutRecord(own, id), wanted, id);
        return placed.sets;
      },
      () => {
        const { set, text } = placed!;
        return { status: 200, body: presentRecord({ ...set, id, text }) satisfies Static<typeof recordShape> };
      },
    );
  },
};

/** DELETE /v2/dns/<domain_name>/records/<record_id> */
export const deleteDnsRecord: UseCase = {
  errors: [...changeErrors.filter((code) => code !== "bad_request"), "record_not_found", "record_managed"],
  scope: "dns:update",
  docs: {
    operation: "deleteDnsRecord",
    summary: "Removes a record.",
    answers: { 204: { description: "It is gone." } },
  },
  async handle(context, request) {
    const id = request.params.record_id ?? "";
    return changeAtOnce(
      context,
      request,
      (own, zone, all) => {
        findOwn(recordsOf(zone, all), id);
        return withoutRecord(own, id);
      },
      () => ({ status: 204 }),
    );
  },
};

/** @throws ApiError `record_not_found`, `record_managed` */
function findOwn(records: readonly DnsRecord[], id: string): DnsRecord {
  const found = records.find((record) => record.id === id);
  if (!found) throw new ApiError("record_not_found");
  if (found.isManaged) throw new ApiError("record_managed");
  return found;
}

/** A set with the ids of its records. */
type Identified = WantedSet & { ids: (string | undefined)[] };

const identified = (set: StoredSet): Identified => ({ ...toRecordSet(set), ids: [...set.ids] });

function withoutRecord(own: readonly StoredSet[], id: string): Identified[] {
  return own.map(identified).flatMap((set) => {
    const at = set.ids.indexOf(id);
    if (at < 0) return [set];
    const records = set.records.filter((_, index) => index !== at);
    return records.length === 0 ? [] : [{ ...set, records, ids: set.ids.filter((_, index) => index !== at) }];
  });
}

interface Placed {
  sets: Identified[];
  /** The one that has the record. */
  set: Identified;
  /** The record in canonical form. */
  text: string;
}

/** Adds a record to the sets of a zone. @throws ApiError `bad_request` */
function place(
  zone: string,
  own: readonly (StoredSet | Identified)[],
  given: Static<typeof updateBody> & { type: string },
  id?: string,
): Placed {
  const { subname, text } = textOf(given);
  const { type, ttl: wantedTtl } = given;
  const names = { subname: "record_name", "records/0": "content" };
  const parsed = atField("", () => parseRecordSet(zone, { subname, type, ttl: wantedTtl, records: [text] }), names);
  const present = own.map((set) => ({ ...toRecordSet(set as StoredSet), ids: [...(set.ids ?? [])] }) as Identified);
  const before = present.find((set) => keyOf(set) === keyOf(parsed));
  const canonical = parsed.records[0]!;
  const ttl = wantedTtl ?? before?.ttl ?? parsed.ttl;
  const isThere = before?.records.includes(canonical) ?? false;
  const set: Identified = {
    ...parsed,
    ttl,
    records: [...(before?.records ?? []), ...(isThere ? [] : [canonical])],
    ids: [...(before?.ids ?? []), ...(isThere ? [] : [id])],
  };
  return { sets: [...present.filter((one) => one !== before), set], set, text: canonical };
}
