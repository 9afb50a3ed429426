/** The operator's side of service packs. A pack is never changed: an account keeps what it was bought with. */
import { statement } from "#db/statement.ts";
import type { OperatorContext } from "#resellers/create.ts";

const insertPack = statement(
  "service-pack-insert",
  `INSERT INTO service_packs (name, disk_quota_bytes, files_max, ftp_sessions_max, offered_to, created_at)
   VALUES ($1, $2, $3, $4, $5, $6) RETURNING id`,
  { id: "int8" },
);

const retirePackById = statement(
  "service-pack-retire",
  "UPDATE service_packs SET retired_at = $2 WHERE id = $1 AND retired_at IS NULL RETURNING id",
  { id: "int8" },
);

const anyPack = statement("service-packs-any", "SELECT EXISTS (SELECT FROM service_packs) AS has_packs", {
  has_packs: "bool",
});

export interface NewPack {
  name: string;
  diskBytesMax: number;
  filesMax: number;
  ftpSessionsMax: number;
  /** Resellers' ids; offered to all when left out. */
  offeredTo?: readonly number[] | undefined;
}

/** Returns the new pack's id. */
export async function createPack(context: OperatorContext, pack: NewPack): Promise<string> {
  const { name, diskBytesMax, filesMax, ftpSessionsMax, offeredTo } = pack;
  const values = [name, diskBytesMax, filesMax, ftpSessionsMax, offeredTo ?? null, context.clock.now()];
  const [row] = await context.database.query(insertPack, values);
  if (!row) throw new Error("the service pack was not inserted");
  return String(row.id);
}

/** Offers a pack no more; accounts that have it keep it. Returns false when there is no such pack on offer. */
export async function retirePack(context: OperatorContext, id: number): Promise<boolean> {
  return (await context.database.query(retirePackById, [id, context.clock.now()])).length > 0;
}

export async function hasPacks(context: OperatorContext): Promise<boolean> {
  const [row] = await context.database.query(anyPack, []);
  return row?.has_packs ?? false;
}
