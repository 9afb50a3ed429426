import Type, { type Static, type TSchema } from "typebox";
import { statement } from "#db/statement.ts";
import { textLike } from "#use-case/docs.ts";
import type { UseCase } from "#use-case/use-case.ts";

const offeredPacks = statement(
  "service-packs-offered",
  `SELECT id, version, name, disk_quota_bytes, files_max, ftp_sessions_max, traffic_bytes_month, host_names_max, features
   FROM service_packs
   WHERE retired_at IS NULL AND (offered_to IS NULL OR $reseller_id = ANY (offered_to)) ORDER BY id`,
  {
    id: "int8",
    version: "int4",
    name: "text",
    disk_quota_bytes: "int8",
    files_max: "int4",
    ftp_sessions_max: "int4",
    traffic_bytes_month: "int8",
    host_names_max: "int4",
    features: "text[]",
  },
);

type OfferedPack = NonNullable<(typeof offeredPacks)["row"]>;

/** The packs on offer to the caller. */
export const packsLister = <Shape extends TSchema>(
  shape: Shape,
  present: (pack: OfferedPack) => Static<Shape>,
): UseCase => ({
  errors: [],
  scope: "servicepacks:read",
  docs: {
    operation: "listServicePacks",
    summary: "Lists the service packs that are offered to you.",
    answers: { 200: { description: "All of them: the list has no pages.", body: Type.Array(shape) } },
  },

  async handle(context, request) {
    const packs = await context.database.point(offeredPacks, { reseller_id: request.caller.resellerId });
    return { status: 200, body: packs.map(present) };
  },
});

const limit = (example: number) => Type.Integer({ minimum: 0, examples: [example] });

const packShape = Type.Object(
  {
    id: Type.String({ description: "Digits.", examples: ["14490"] }),
    name: textLike("Small"),
    kind: Type.Literal("hosting"),
    version: Type.Integer({ minimum: 1, examples: [2] }),
    disk_quota_bytes: limit(100_000_000),
    files_max: limit(10_000),
    ftp_sessions_max: limit(4),
    traffic_bytes_month: Type.Integer({ minimum: 0, description: "0 means unlimited.", examples: [50_000_000_000] }),
    host_names_max: limit(10),
    features: Type.Array(textLike("ftp")),
  },
  { title: "ServicePack" },
);

/** GET /servicepacks. Ids are strings of digits. */
export const listServicePacks = packsLister(packShape, ({ id, name, ...terms }) => ({
  id: String(id),
  name,
  kind: "hosting" as const,
  ...terms,
}));
