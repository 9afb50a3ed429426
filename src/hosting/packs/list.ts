import { statement } from "#db/statement.ts";
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
export const packsLister = (present: (pack: OfferedPack) => unknown): UseCase => ({
  errors: [],
  scope: "servicepacks:read",

  async handle(context, request) {
    const packs = await context.database.point(offeredPacks, { reseller_id: request.caller.resellerId });
    return { status: 200, body: packs.map(present) };
  },
});

/** GET /servicepacks. Ids are strings of digits. */
export const listServicePacks = packsLister(({ id, name, ...terms }) => ({
  id: String(id),
  name,
  kind: "hosting",
  ...terms,
}));
