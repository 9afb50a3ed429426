/**
 * Service packs, for operators. The terms of a version never change: a revision is the next version under the same id, for new
 * accounts; existing accounts keep theirs.
 */
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { OperatorError } from "#operator-error.ts";

type PackContext = Pick<Context, "database" | "clock">;

const insertPack = statement(
  "service-pack-insert",
  `INSERT INTO service_packs (name, disk_quota_bytes, files_max, ftp_sessions_max, traffic_bytes_month, host_names_max,
     features, node_tags, offered_to, created_at)
   VALUES ($name, $disk_quota_bytes, $files_max, $ftp_sessions_max, $traffic_bytes_month, $host_names_max,
     $features, $node_tags, $offered_to, $now)
   RETURNING id`,
  { id: "int8" },
);

const retirePackById = statement(
  "service-pack-retire",
  "UPDATE service_packs SET retired_at = $now WHERE id = $id AND retired_at IS NULL RETURNING version",
  { version: "int4" },
);

const insertRevision = statement(
  "service-pack-revise",
  `INSERT INTO service_packs (id, version, name, disk_quota_bytes, files_max, ftp_sessions_max, traffic_bytes_month,
     host_names_max, features, node_tags, offered_to, created_at)
   SELECT id, version + 1, coalesce($name, name), coalesce($disk_quota_bytes, disk_quota_bytes),
     coalesce($files_max, files_max), coalesce($ftp_sessions_max, ftp_sessions_max),
     coalesce($traffic_bytes_month, traffic_bytes_month), coalesce($host_names_max, host_names_max),
     coalesce($features, features), coalesce($node_tags, node_tags), offered_to, $now
   FROM service_packs WHERE id = $id AND version = $version RETURNING version`,
  { version: "int4" },
);

const offerPackTo = statement(
  "service-pack-offer",
  "UPDATE service_packs SET offered_to = $offered_to WHERE id = $id AND retired_at IS NULL RETURNING version",
  { version: "int4" },
);

const packVersions = statement(
  "operator-service-packs",
  `SELECT id, version, name, CASE WHEN retired_at IS NULL THEN 'active' ELSE 'retired' END AS status, disk_quota_bytes,
     files_max, ftp_sessions_max, traffic_bytes_month, host_names_max, features, node_tags,
     (SELECT array_agg(resellers.name ORDER BY resellers.name) FROM resellers
      WHERE resellers.id = ANY (offered_to)) AS offered_to,
     coalesce(used.accounts, 0) AS accounts
   FROM service_packs AS pack LEFT JOIN (
     SELECT servicepack_id AS id, servicepack_version AS version, count(*) AS accounts FROM hosting_accounts
     WHERE status NOT IN ('Failed', 'Removed') GROUP BY 1, 2) AS used USING (id, version)
   WHERE $all OR retired_at IS NULL ORDER BY id, version`,
  {
    id: "int8",
    version: "int4",
    name: "text",
    status: ["active", "retired"],
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

/** The terms of a pack. */
export interface PackTerms {
  name: string;
  diskBytesMax: number;
  filesMax: number;
  ftpSessionsMax: number;
  /** What a site may send in a calendar month (UTC). 0, the default: no limit. */
  trafficBytesMonth?: number | undefined;
  /** In addition to the platform's own name. */
  hostNamesMax?: number | undefined;
  /** Without `ftp`, login is impossible. The others are information for the reseller. */
  features?: readonly string[] | undefined;
  /** Only a node that has all of them takes an account of this pack. */
  nodeTags?: readonly string[] | undefined;
}

export interface NewPack extends PackTerms {
  /** Resellers' ids; offered to all when left out. */
  offeredTo?: readonly number[] | undefined;
}

const hostNamesMaxDefault = 10;

/** The values of the terms' columns; null for terms that are not given. */
const termsValues = (terms: Partial<PackTerms>) => ({
  name: terms.name ?? null,
  disk_quota_bytes: terms.diskBytesMax ?? null,
  files_max: terms.filesMax ?? null,
  ftp_sessions_max: terms.ftpSessionsMax ?? null,
  traffic_bytes_month: terms.trafficBytesMonth ?? null,
  host_names_max: terms.hostNamesMax ?? null,
  features: terms.features ?? null,
  node_tags: terms.nodeTags ?? null,
});

/** @returns the new pack's id */
export async function createPack({ database, clock }: PackContext, pack: NewPack): Promise<string> {
  const { trafficBytesMonth = 0, hostNamesMax = hostNamesMaxDefault, features = ["ftp"], nodeTags = [] } = pack;
  const terms = termsValues({ ...pack, trafficBytesMonth, hostNamesMax, features, nodeTags });
  const [row] = await database.query(insertPack, { ...terms, offered_to: pack.offeredTo ?? null, now: clock.now() });
  if (!row) throw new Error("the service pack was not inserted");
  return String(row.id);
}

/** Replaces the version on offer with the next one, for the same resellers. @returns its number @throws OperatorError */
export async function revisePack(
  { database, clock }: PackContext,
  id: number,
  changes: Partial<PackTerms>,
): Promise<number> {
  const now = clock.now();
  return database.transaction(async (tx) => {
    const [last] = await tx.query(retirePackById, { id, now });
    if (!last) throw notOnOffer(id);
    const [next] = await tx.query(insertRevision, { id, version: last.version, ...termsValues(changes), now });
    if (!next) throw new Error("the service pack was not revised");
    return next.version;
  });
}

/** @param resellerIds undefined: all resellers @throws OperatorError */
export async function offerPack(context: PackContext, id: number, resellerIds?: readonly number[]): Promise<void> {
  const [offered] = await context.database.query(offerPackTo, { id, offered_to: resellerIds ?? null });
  if (!offered) throw notOnOffer(id);
}

/** Takes a pack off offer; accounts keep it. @throws OperatorError */
export async function retirePack(context: PackContext, id: number): Promise<void> {
  const [retired] = await context.database.query(retirePackById, { id, now: context.clock.now() });
  if (!retired) throw notOnOffer(id);
}

function notOnOffer(id: number): OperatorError {
  return new OperatorError(
    "not-found",
    `no service pack ${id} is on offer: deedhouse operator packs versions shows those that are`,
  );
}

/** @param all includes versions that are not on offer */
export async function listPackVersions({ database }: PackContext, { all }: { all: boolean }) {
  return database.query(packVersions, { all });
}

export async function hasPacks({ database }: Pick<Context, "database">): Promise<boolean> {
  const [row] = await database.query(anyPack, {});
  return row?.has_packs ?? false;
}
