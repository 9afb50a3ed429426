/** The changes of a zone: GET /domains/<domain_name>/dns/changes, and one of them. */
import Type, { type Static } from "typebox";
import type { Context } from "#context.ts";
import type { Database, Transaction } from "#db/database.ts";
import { type RowOf, statement } from "#db/statement.ts";
import { waitForNotification } from "#db/wait.ts";
import { ApiError } from "#errors.ts";
import { checkAfter } from "#use-case/check-after.ts";
import { type Docs, instant, pageOf, pagingQuery, textLike } from "#use-case/docs.ts";
import { newestFirst, placeColumn } from "#use-case/newest-first.ts";
import { answerPage } from "#use-case/paging.ts";
import type { Answer, UseCase, UseCaseRequest } from "#use-case/use-case.ts";
import { waitApplied } from "#use-case/wait-applied.ts";
import type { ShownSet } from "#zones/edit.ts";
import { etagOf, getOwnZone, zoneErrors } from "#zones/rows.ts";

/** A notification's payload there is the name of a zone that was served, or has another state. */
const zoneChannel = "zone_changed";

const columns = {
  revision: "int8",
  serial: "int8",
  at: "timestamptz",
  by: "text?",
  door: "text",
  added: "jsonb",
  removed: "jsonb",
  served_at: "timestamptz?",
} as const;
type ChangeRow = RowOf<typeof columns>;

const oneChange = statement(
  "zone-change-by-id",
  `SELECT ${Object.keys(columns).join(", ")} FROM zone_changes WHERE zone_id = $zone_id AND revision = $revision` as string,
  columns,
);

const pages = newestFirst({
  name: "zone-changes",
  total: "SELECT count(*) FROM zone_changes WHERE zone_id = $zone_id",
  keys: ({ beyond, order, rowsMax }) =>
    `SELECT at, lpad(revision::text, 15, '0') AS code FROM zone_changes WHERE zone_id = $zone_id
       AND ${beyond("at", "lpad(revision::text, 15, '0')")} ${order("at", "lpad(revision::text, 15, '0')")} LIMIT ${rowsMax}`,
  row: "FROM zone_changes WHERE zone_id = $zone_id AND revision = chosen.code::int8",
  columns,
});

const setShape = Type.Object(
  {
    subname: Type.String({ description: "Relative to the name; `@` is the name itself.", examples: ["www"] }),
    type: textLike("A"),
    ttl: Type.Integer({ examples: [3600] }),
    records: Type.Array(Type.String(), { examples: [["192.0.2.1"]] }),
  },
  { title: "RecordsOfChange" },
);

const differenceShape = Type.Object(
  { added: Type.Array(setShape), removed: Type.Array(setShape) },
  { title: "ZoneDifference" },
);

export const changeShape = Type.Object(
  {
    change_id: Type.String({ description: "Also the zone's `etag`.", examples: ["7"] }),
    serial: Type.Integer({ examples: [1795215600] }),
    at: instant,
    by: Type.Union([textLike("5f2c9d4e8b7a4c1d9e3f6a0b2c4d6e8f"), Type.Null()], {
      description: "The API key; null: no request.",
      examples: ["5f2c9d4e8b7a4c1d9e3f6a0b2c4d6e8f"],
    }),
    door: Type.String({
      description: "Where it came from: `v1`, `v2`, or what happened to the name. A program ignores others.",
      examples: ["v1"],
    }),
    status: Type.Enum(["Publishing", "Served"]),
    served_at: Type.Union([instant, Type.Null()], { examples: [null] }),
    added: Type.Array(setShape),
    removed: Type.Array(setShape),
  },
  { title: "ZoneChange" },
);

export function presentChange(row: ChangeRow): Static<typeof changeShape> {
  return {
    change_id: String(row.revision),
    serial: row.serial,
    at: row.at.toISOString(),
    by: row.by,
    door: row.door,
    status: row.served_at ? "Served" : "Publishing",
    served_at: row.served_at?.toISOString() ?? null,
    added: row.added as ShownSet[],
    removed: row.removed as ShownSet[],
  };
}

/** The answers of every use case that changes records. */
export const changeAnswers = {
  202: {
    description: "The change is accepted, and read at once; `location` says when the name servers have it.",
    headers: ["location", "check-after", "etag", "preference-applied?", "x-skipped-lines?"],
  },
  200: {
    description:
      "The change, served while the request waited (`Prefer: wait=N`); the last one, if nothing was changed; or with `dry_run=true` what would be.",
    body: Type.Union([changeShape, differenceShape]),
    headers: ["location?", "etag?", "preference-applied?", "x-skipped-lines?"],
  },
} as const satisfies Docs["answers"];

export async function lastChange(
  to: { query: Database["query"] | Transaction["query"] },
  zoneId: number,
  revision: number,
): Promise<ChangeRow> {
  const [row] = await to.query(oneChange, { zone_id: zoneId, revision });
  if (!row) throw new ApiError("zone_change_not_found");
  return row;
}

interface Awaited {
  name: string;
  zone: { id: number };
  revision: number;
}

/** Waits until the change is served, as long as the caller is ready to. @param accepted the answer if it is not by then */
export async function awaitServed(
  context: Context,
  request: UseCaseRequest,
  awaited: Awaited,
  accepted: Answer,
): Promise<Answer> {
  if (request.waitSeconds === 0) return accepted;
  const row = await untilServed(context, request, awaited);
  const { "check-after": _after, ...headers } = { ...accepted.headers, ...waitApplied(request) } as Record<
    string,
    string
  >;
  if (!row.served_at) return { ...accepted, headers: { ...accepted.headers, ...waitApplied(request) } };
  return { status: 200, headers, body: presentChange(row) };
}

function untilServed(context: Context, request: UseCaseRequest, { name, zone, revision }: Awaited) {
  return waitForNotification(context, zoneChannel, name, {
    read: () => lastChange(context.database, zone.id, revision),
    isAwaited: ({ served_at }) => served_at !== null,
    waitMs: request.waitSeconds * 1000,
    signal: request.signal(),
  });
}

/** GET /domains/<domain_name>/dns/changes */
export const listZoneChanges: UseCase = {
  errors: ["invalid_paging_request", ...zoneErrors],
  scope: "dns:read",
  docs: {
    operation: "listZoneChanges",
    summary: "Lists the changes of a zone, the newest first.",
    description: "They are kept for 400 days.",
    query: Type.Object(pagingQuery),
    answers: { 200: pageOf(changeShape) },
  },
  async handle(context, request) {
    const zone = await getOwnZone(context.database, request);
    const path = `/domains/${zone.domain_name}/dns/changes`;
    const list = { list: path, nameColumn: placeColumn, filter: "", values: { zone_id: zone.id } };
    return answerPage(context, request, { ...pages, ...list }, path, presentChange);
  },
};

const lookAfterSeconds = 2;

/** GET /domains/<domain_name>/dns/changes/<change_id>: `Prefer: wait=N` holds the answer until the change is served. */
export const readZoneChange: UseCase = {
  errors: [...zoneErrors, "zone_change_not_found"],
  scope: "dns:read",
  docs: {
    operation: "readZoneChange",
    summary: "Reads a change of a zone: whether the name servers have it.",
    description: "`Prefer: wait=N` holds the answer until they have.",
    answers: {
      200: { description: "The change.", body: changeShape, headers: ["check-after?", "preference-applied?", "etag"] },
    },
  },
  async handle(context, request) {
    const zone = await getOwnZone(context.database, request);
    const text = request.params.change_id ?? "";
    if (!/^[1-9][0-9]{0,14}$/.test(text)) throw new ApiError("zone_change_not_found");
    const awaited = { name: zone.domain_name, zone, revision: Number(text) };
    const row = await (request.waitSeconds > 0
      ? untilServed(context, request, awaited)
      : lastChange(context.database, zone.id, awaited.revision));
    return {
      status: 200,
      headers: {
        etag: etagOf(row),
        ...waitApplied(request),
        ...(!row.served_at && { "check-after": checkAfter(lookAfterSeconds) }),
      },
      body: presentChange(row),
    };
  },
};
