/** The calls about the records of a zone. */
import Type, { type Static } from "typebox";
import Value from "typebox/value";
import { parseRecordSet, parseType, type RecordSet } from "#dns/records.ts";
import { unshadowedSets } from "#dns/served-zone.ts";
import { ApiError, invalidField } from "#errors.ts";
import { parseBody, parseJson } from "#use-case/body.ts";
import { instant, pageOf, pagingQuery, textLike } from "#use-case/docs.ts";
import { answerFewRows } from "#use-case/paging.ts";
import type { UseCase, UseCaseRequest } from "#use-case/use-case.ts";
import { changeErrors, changeRecords, type Edit } from "#zones/change.ts";
import { changeAnswers } from "#zones/changes.ts";
import { keyOf, toRecordSet, type WantedSet } from "#zones/edit.ts";
import { exportZone, importZone, isZoneFile } from "#zones/file.ts";
import { atField } from "#zones/problems.ts";
import { etagOf, getOwnZone, readSets, type StoredSet, zoneErrors } from "#zones/rows.ts";

const setsMax = 500;

const ttlField = Type.Optional(
  Type.Integer({ description: "Seconds, 60 to 86400; 3600 if left out.", examples: [3600] }),
);
const recordsField = Type.Array(Type.String(), {
  description: "As a zone file has them; names are absolute, with or without the last dot. TXT may be the raw text.",
  examples: [["192.0.2.1"]],
});
const setFields = { ttl: ttlField, records: recordsField };
const setBody = Type.Object(setFields);
const setInput = Type.Object(
  {
    subname: Type.String({
      description: "Relative to the name; `@` is the name itself, `*` a wildcard.",
      examples: ["www"],
    }),
    type: textLike("A"),
    ...setFields,
  },
  { title: "RecordSetInput", examples: [{ subname: "www", type: "A", ttl: 3600, records: ["192.0.2.1"] }] },
);
export const setsInput = Type.Array(setInput);

const setShape = Type.Object(
  {
    subname: textLike("www"),
    type: textLike("A"),
    ttl: Type.Integer({ examples: [3600] }),
    records: Type.Array(Type.String(), { examples: [["192.0.2.1"]] }),
    managed_by: Type.Union([Type.Enum(["hosting", "service"]), Type.Null()], {
      description: "Null: you. The others belong to the service, until a record of yours takes their place.",
      examples: [null],
    }),
    updated_at: instant,
  },
  { title: "RecordSet" },
);

const presentSet = ({ owner, type, ttl, records, source, updated_at }: StoredSet): Static<typeof setShape> => ({
  subname: owner,
  type,
  ttl,
  records,
  managed_by: source === "user" ? null : source,
  updated_at: updated_at.toISOString(),
});

/** The sets that name servers show: those of the reseller, and the managed ones that none of them shadows. */
export function visibleSets(all: readonly StoredSet[]): StoredSet[] {
  const own = all.filter(({ source }) => source === "user");
  const managed = all.filter(({ source }) => source !== "user");
  const shown = new Set(unshadowedSets(own.map(toRecordSet), managed.map(toRecordSet)).map(keyOf));
  return all.filter((set) => set.source === "user" || shown.has(keyOf(set)));
}

/** GET /domains/<domain_name>/records */
export const listRecords: UseCase = {
  errors: ["invalid_paging_request", ...zoneErrors],
  scope: "dns:read",
  docs: {
    operation: "listRecords",
    summary: "Lists the records of a zone, by name and type.",
    description: "With `Accept: text/dns`, the whole zone as a zone file.",
    query: Type.Object({
      ...pagingQuery,
      type: Type.Optional(Type.String({ description: "Only sets of this type." })),
      subname: Type.Optional(Type.String({ description: "Only sets at this name." })),
    }),
    answers: { 200: { ...pageOf(setShape), headers: [...pageOf(setShape).headers!, "etag"], isZoneFileToo: true } },
  },
  async handle(context, request) {
    const zone = await getOwnZone(context.database, request);
    const sets = visibleSets(await readSets(context.database, zone.id));
    if (request.wantsOnly("text/dns")) return exportZone(zone, sets);
    const type = request.query.get("type");
    const subname = request.query.get("subname");
    const rows = sets.filter(
      (set) => (type === null || set.type === type.toUpperCase()) && (subname === null || set.owner === subname),
    );
    const filter = new URLSearchParams({ ...(subname !== null && { subname }), ...(type !== null && { type }) });
    const path = `/domains/${zone.domain_name}/records`;
    const answer = answerFewRows(context, request, rows, { path, filter: filter.toString() }, presentSet);
    return { ...answer, headers: { ...answer.headers, etag: etagOf(zone) } };
  },
};

/** The set of the path, in canonical form. @throws ApiError `record_not_found` for what no zone can have */
function pathSet({ params }: UseCaseRequest): { owner: string; type: string } {
  try {
    const type = parseType(params.record_type ?? "");
    const subname = params.subname ?? "";
    const { owner } = parseRecordSet(params.domain_name ?? "", { subname, type, records: [] });
    return { owner, type };
  } catch {
    throw new ApiError("record_not_found");
  }
}

/** GET /domains/<domain_name>/records/<subname>/<type> */
export const readRecordSet: UseCase = {
  errors: [...zoneErrors, "record_not_found"],
  scope: "dns:read",
  docs: {
    operation: "readRecordSet",
    summary: "Reads the records of one name and type.",
    answers: { 200: { description: "The set.", body: setShape, headers: ["etag"] } },
  },
  async handle({ database }, request) {
    const zone = await getOwnZone(database, request);
    const key = keyOf(pathSet({ ...request, params: { ...request.params, domain_name: zone.domain_name } }));
    const set = visibleSets(await readSets(database, zone.id)).find((one) => keyOf(one) === key);
    if (!set) throw new ApiError("record_not_found");
    return { status: 200, headers: { etag: etagOf(zone) }, body: presentSet(set) };
  },
};

const dryQuery = {
  dry_run: Type.Optional(Type.Boolean({ description: "Only says what would be added and removed." })),
};
const without = (own: readonly StoredSet[], keys: ReadonlySet<string>): WantedSet[] =>
  own.filter((set) => !keys.has(keyOf(set))).map(toRecordSet);

/** PUT /domains/<domain_name>/records/<subname>/<type> */
export const putRecordSet: UseCase = {
  errors: changeErrors,
  scope: "dns:update",
  docs: {
    operation: "setRecordSet",
    summary: "Sets the records of one name and type.",
    query: Type.Object(dryQuery),
    body: setBody,
    answers: changeAnswers,
  },
  async handle(context, request) {
    const { ttl, records } = parseBody(setBody, request.rawBody);
    const { subname = "", record_type: type = "" } = request.params;
    if (records.length === 0) throw invalidField("records", "Give at least one record; DELETE removes the set.");
    return changeRecords(context, request, (own, { domain_name: zone }) => {
      const set = atField("", () => parseRecordSet(zone, { subname, type, ttl, records }));
      return [...without(own, new Set([keyOf(set)])), set];
    });
  },
};

/** DELETE /domains/<domain_name>/records/<subname>/<type> */
export const deleteRecordSet: UseCase = {
  errors: [...changeErrors, "record_not_found", "record_managed"],
  scope: "dns:update",
  docs: {
    operation: "deleteRecordSet",
    summary: "Removes the records of one name and type.",
    query: Type.Object(dryQuery),
    answers: changeAnswers,
  },
  async handle(context, request) {
    return changeRecords(context, request, (own, { domain_name }, all) => {
      const key = keyOf(pathSet({ ...request, params: { ...request.params, domain_name } }));
      if (!own.some((set) => keyOf(set) === key)) {
        throw new ApiError(all.some((set) => keyOf(set) === key) ? "record_managed" : "record_not_found");
      }
      return without(own, new Set([key]));
    });
  },
};

/** The sets of a body. @throws ApiError `bad_request` */
export function parseSets(value: unknown, path = ""): Static<typeof setsInput> {
  if (!Array.isArray(value)) throw invalidField(path || "body", "Send an array of sets.");
  if (value.length > setsMax) throw invalidField(path || "body", `Send at most ${setsMax} sets.`);
  const sets = value.map(withoutNulls);
  for (const [index, entry] of sets.entries()) {
    const [problem] = Value.Check(setInput, entry) ? [] : Value.Errors(setInput, entry);
    if (!problem) continue;
    const field = [path, index, problem.instancePath.replace(/^\//, "")].filter((part) => part !== "").join("/");
    throw invalidField(field, "Give subname, type and records as texts, and ttl as a whole number.");
  }
  return sets as Static<typeof setsInput>;
}

/** Null means left out. */
function withoutNulls(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== null));
}

/** Each set once, in canonical form; those without records are to be removed. @throws ApiError `bad_request` */
export function canonicalSets(zone: string, sets: Static<typeof setsInput>, path = ""): RecordSet[] {
  const seen = new Set<string>();
  return sets.map((given, index) => {
    const at = [path, index].filter((part) => part !== "").join("/");
    const set = atField(at, () => parseRecordSet(zone, given));
    if (seen.has(keyOf(set))) throw invalidField(at, "This name and type is given twice.");
    seen.add(keyOf(set));
    return set;
  });
}

const patched =
  (sets: Static<typeof setsInput>): Edit =>
  (own, { domain_name: zone }) => {
    const given = canonicalSets(zone, sets);
    return [...without(own, new Set(given.map(keyOf))), ...given.filter(({ records }) => records.length > 0)];
  };

/** PATCH /domains/<domain_name>/records: all or nothing. */
export const patchRecords: UseCase = {
  errors: changeErrors,
  scope: "dns:update",
  docs: {
    operation: "changeRecords",
    summary: "Changes several sets of records at once: all or nothing.",
    description: `At most ${setsMax} sets, each once. A set without records is removed.`,
    query: Type.Object(dryQuery),
    body: setsInput,
    answers: changeAnswers,
  },
  async handle(context, request) {
    return changeRecords(context, request, patched(parseSets(parseJson(request.rawBody))));
  },
};

/** PUT /domains/<domain_name>/records: replaces all sets of the reseller, by JSON or by a zone file. */
export const replaceRecords: UseCase = {
  errors: changeErrors,
  scope: "dns:update",
  docs: {
    operation: "replaceRecords",
    summary: "Replaces all records of a zone.",
    description:
      "Sets that are not in the body are removed. With `content-type: text/dns` the body is a zone file of at most 256 KiB; `x-skipped-lines` names its lines with SOA and NS of the zone itself, which are not taken over.",
    query: Type.Object(dryQuery),
    body: setsInput,
    takesZoneFile: true,
    answers: changeAnswers,
  },
  async handle(context, request) {
    if (isZoneFile(request)) return importZone(context, request);
    const sets = parseSets(parseJson(request.rawBody));
    return changeRecords(context, request, (_own, { domain_name: zone }) =>
      canonicalSets(zone, sets).filter(({ records }) => records.length > 0),
    );
  },
};
