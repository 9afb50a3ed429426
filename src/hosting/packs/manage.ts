/**
 * The operator's side of service packs. What a pack allows is never changed: a revision is its next version, under the same
 * id, for new accounts; an account keeps the version that it was bought with.
 */
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { OperatorError } from "#operator-error.ts";
import type { OperatorContext } from "#resellers/create.ts";

const hostNamesMaxDefault = 10;

const insertPack = statement(
  "service-pack-insert",
  `INSERT INTO service_packs (name, disk_quota_bytes, files_max, ftp_sessions_max, traffic_bytes_month, host_names_max,
     features, node_tags, offered_to, created_at)
   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) RETURNING id`,
  { id: "int8" },
);

const retirePackById = statement(
  "service-pack-retire",
  "UPDATE service_packs SET retired_at = $2 WHERE id = $1 AND retired_at IS NULL RETURNING version",
  { version: "int4" },
);

const insertRevision = statement(
  "service-pack-revise",
  `INSERT INTO service_packs (id, version, name, disk_quota_bytes, files_max, ftp_sessions_max, traffic_bytes_month,
     host_names_max, features, node_tags, offered_to, created_at)
   SELECT id, version + 1, coalesce($3, name), coalesce($4, disk_quota_bytes), coalesce($5, files_max),
     coalesce($6, ftp_sessions_max), coalesce($7, traffic_bytes_month), coalesce($8, host_names_max),
     coalesce($9, features), coalesce($10, node_tags), offered_to, $11
   FROM service_packs WHERE id = $1 AND version = $2 RETURNING version`,
  { version: "int4" },
);

const offerPackTo = statement(
  "service-pack-offer",
  "UPDATE service_packs SET offered_to = $2 WHERE id = $1 AND retired_at IS NULL RETURNING version",
  { version: "int4" },
);

const packVersions = statement(
  "operator-service-packs",
  `SELECT id, version, name, CASE WHEN retired_at IS NULL THEN 'active' ELSE 'retired' END AS status, disk_quota_bytes,
     files_max, ftp_sessions_max, traffic_bytes_month, host_names_max, features, node_tags,
     (SELECT array_agg(resellers.name ORDER BY resellers.name) FROM resellers
      WHERE resellers.id = ANY (offered_to)) AS offered_to,
     (SELECT count(*) FROM hosting_accounts AS account WHERE account.servicepack_id = pack.id
        AND account.servicepack_version = pack.version AND account.status NOT IN ('Failed', 'Removed')) AS accounts
   FROM service_packs AS pack WHERE $1 OR retired_at IS NULL ORDER BY id, version`,
  {
    id: "int8",
    version: "int4",
    name: "text",
    status: "text",
    disk_quota_bytes: "int8",
    files_max: "int4",
    ftp_sessions_max: "int4",
    traffic_bytes_month: "int8",
    host_names_max: "int4",
    features: "text[]",
    node_tags: "text[]",
    offered_to: "text[]?",
    accounts: "int8",
  },
);

const anyPack = statement("service-packs-any", "SELECT EXISTS (SELECT FROM service_packs) AS has_packs", {
  has_packs: "bool",
});

/** What a pack allows. */
export interface PackTerms {
  name: string;
  diskBytesMax: number;
  filesMax: number;
  ftpSessionsMax: number;
  /** What a site may send in a calendar month (UTC). 0, the default: as much as it likes. */
  trafficBytesMonth?: number | undefined;
  /** Beside the platform's own name. */
  hostNamesMax?: number | undefined;
  /** Without `ftp` nobody can log in; the others are for the reseller to read. */
  features?: readonly string[] | undefined;
  /** Only a node that has all of them takes an account of this pack. */
  nodeTags?: readonly string[] | undefined;
}

export interface NewPack extends PackTerms {
  /** Resellers' ids; offered to all when left out. */
  offeredTo?: readonly number[] | undefined;
}

/** Returns the new pack's id. */
export async function createPack(context: OperatorContext, pack: NewPack): Promise<string> {
  const { name, diskBytesMax, filesMax, ftpSessionsMax, trafficBytesMonth = 0, offeredTo } = pack;
  const { hostNamesMax = hostNamesMaxDefault, features = ["ftp"], nodeTags = [] } = pack;
  const [row] = await context.database.query(insertPack, [
    ...[name, diskBytesMax, filesMax, ftpSessionsMax, trafficBytesMonth, hostNamesMax, features, nodeTags],
    ...[offeredTo ?? null, context.clock.now()],
  ]);
  if (!row) throw new Error("the service pack was not inserted");
  return String(row.id);
}

type PackContext = Pick<Context, "database" | "clock">;

/** The pack's next version, on offer to whom it was on offer. Returns its number. @throws OperatorError */
export async function revisePack(context: PackContext, id: number, changes: Partial<PackTerms>): Promise<number> {
  const now = context.clock.now();
  return context.database.transaction(async (tx) => {
    const [last] = await tx.query(retirePackById, [id, now]);
    if (!last) throw notOnOffer(id);
    const { name, diskBytesMax, filesMax, ftpSessionsMax, trafficBytesMonth, hostNamesMax, features, nodeTags } =
      changes;
    const terms = [name, diskBytesMax, filesMax, ftpSessionsMax, trafficBytesMonth, hostNamesMax, features, nodeTags];
    const values = [id, last.version, ...terms.map((term) => term ?? null), now];
    const [next] = await tx.query(insertRevision, values);
    if (!next) throw new Error("the service pack was not revised");
    return next.version;
  });
}

/** @param resellerIds to all without them @throws OperatorError */
export async function offerPack(context: PackContext, id: number, resellerIds?: readonly number[]): Promise<void> {
  const [offered] = await context.database.query(offerPackTo, [id, resellerIds ?? null]);
  if (!offered) throw notOnOffer(id);
}

/** Offers a pack no more; accounts that have it keep it. @throws OperatorError */
export async function retirePack(context: PackContext, id: number): Promise<void> {
  const [retired] = await context.database.query(retirePackById, [id, context.clock.now()]);
  if (!retired) throw notOnOffer(id);
}

function notOnOffer(id: number): OperatorError {
  return new OperatorError(
    "not-found",
    `no service pack ${id} is on offer: deedhouse packs versions shows those that are`,
  );
}

/** @param all also the versions that are not on offer */
export async function listPackVersions({ database }: PackContext, { all }: { all: boolean }) {
  return database.query(packVersions, [all]);
}

export async function hasPacks(context: OperatorContext): Promise<boolean> {
  const [row] = await context.database.query(anyPack, []);
  return row?.has_packs ?? false;
}
