/** Gives an account another service pack, for operators. */
import type { Context } from "#context.ts";
import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import { requestChange } from "#hosting/accounts/accounts.ts";
import { lockAccount, notChangeable } from "#hosting/accounts/find-account.ts";
import { changeCommittedBytes } from "#hosting/nodes/place.ts";
import { lockReseller } from "#locks/reseller-lock.ts";
import { OperatorError } from "#operator-error.ts";

const packOnOffer = statement(
  "hosting-pack-on-offer",
  `SELECT id, version, name, disk_quota_bytes, files_max, ftp_sessions_max, host_names_max, node_tags FROM service_packs
   WHERE id = $id AND retired_at IS NULL`,
  {
    id: "int8",
    version: "int4",
    name: "text",
    disk_quota_bytes: "int8",
    files_max: "int4",
    ftp_sessions_max: "int4",
    host_names_max: "int4",
    node_tags: "text[]",
  },
);

const accountsUse = statement(
  "hosting-account-use",
  `SELECT servicepack_id, servicepack_version, disk_quota_bytes, disk_used_bytes, files_used, node_id,
     (SELECT count(*) FROM host_names WHERE account_id = account.id AND host_name <> identifier) AS host_names_count,
     EXISTS (SELECT FROM hosting_moves WHERE account_id = account.id AND ended_at IS NULL AND switched_at IS NULL)
       AS is_moving,
     (SELECT hosting_bytes_max - coalesce(sum(other.disk_quota_bytes), 0)::int8
      FROM resellers LEFT JOIN hosting_accounts AS other
        ON other.reseller_id = resellers.id AND other.status NOT IN ('Failed', 'Removed')
      WHERE resellers.id = account.reseller_id GROUP BY resellers.id) AS resellers_free_bytes
   FROM hosting_accounts AS account WHERE id = $id`,
  {
    servicepack_id: "int8",
    servicepack_version: "int4",
    disk_quota_bytes: "int8",
    disk_used_bytes: "int8",
    files_used: "int4",
    node_id: "text?",
    host_names_count: "int8",
    is_moving: "bool",
    resellers_free_bytes: "int8",
  },
);

const lockNode = statement(
  "hosting-node-lock-for-pack",
  "SELECT capacity_bytes - committed_bytes AS free_bytes, tags FROM hosting_nodes WHERE id = $id FOR UPDATE",
  { free_bytes: "int8", tags: "text[]" },
);

const setPack = statement(
  "hosting-account-pack",
  `UPDATE hosting_accounts SET servicepack_id = $pack_id, servicepack_version = $pack_version,
     disk_quota_bytes = $disk_quota_bytes, files_max = $files_max, ftp_sessions_max = $ftp_sessions_max
   WHERE id = $id`,
  {},
);

type Pack = NonNullable<(typeof packOnOffer)["row"]>;
type Use = NonNullable<(typeof accountsUse)["row"]>;

/**
 * Gives the account the version of the pack that is on offer, even when it is not offered to the account's owner.
 * @throws OperatorError when the account uses more than the pack allows, its owner or node has no room for it, or it is being
 * moved: room is reserved, and the copy made, by the pack that it has
 */
export async function changePack(context: Pick<Context, "database" | "clock">, identifier: string, packId: number) {
  return context.database.transaction(async (tx) => {
    const account = await lockAccount(tx, identifier);
    const [pack] = await tx.query(packOnOffer, { id: packId });
    if (!pack)
      throw new OperatorError(
        "not-found",
        `no service pack ${packId} is on offer: see deedhouse operator packs versions`,
      );
    // Before the account's row is written: a creation under the same identifier holds this lock and waits for that write.
    await lockReseller(tx, account.reseller_id);
    const [use] = await tx.query(accountsUse, { id: account.id });
    if (!use) throw new Error("the account's use was not found");
    const note = `from pack ${use.servicepack_id} version ${use.servicepack_version} to ${pack.id} version ${pack.version}`;
    if (!(await requestChange(context, tx, account.id, "pack-wanted", note))) throw notChangeable(account);
    checkUse(pack, use);
    await commitRoom(tx, pack, use);
    await tx.query(setPack, {
      id: account.id,
      pack_id: pack.id,
      pack_version: pack.version,
      disk_quota_bytes: pack.disk_quota_bytes,
      files_max: pack.files_max,
      ftp_sessions_max: pack.ftp_sessions_max,
    });
    return { ...account, pack };
  });
}

function checkUse(pack: Pack, use: Use): void {
  if (use.is_moving) {
    const advice = "wait until deedhouse moves list shows it as Leaving, or end it with deedhouse moves cancel";
    throw new OperatorError("refused", `it is being moved to another node: ${advice}`);
  }
  const over = (what: string, used: number, allowed: number) =>
    used > allowed ? [`${used} ${what}, and the pack allows ${allowed}`] : [];
  const reasons = [
    ...over("bytes", use.disk_used_bytes, pack.disk_quota_bytes),
    ...over("files and folders", use.files_used, pack.files_max),
    ...over("host names", use.host_names_count, pack.host_names_max),
  ];
  if (reasons.length > 0) throw new OperatorError("refused", `the account has ${reasons.join("; ")}`);
  if (pack.disk_quota_bytes - use.disk_quota_bytes > use.resellers_free_bytes) {
    throw new OperatorError("refused", "its owner's accounts together would exceed their disk limit");
  }
}

/** Commits the room on the account's node: another pack does not move the account. */
async function commitRoom(tx: Pick<Transaction, "query">, pack: Pack, use: Use): Promise<void> {
  if (use.node_id === null) return;
  const [node] = await tx.query(lockNode, { id: use.node_id });
  if (!node) throw new OperatorError("refused", `its hosting node ${use.node_id} does not exist any more`);
  const missing = pack.node_tags.filter((tag) => !node.tags.includes(tag));
  const moreBytes = pack.disk_quota_bytes - use.disk_quota_bytes;
  const advice = "move the account to another one first: deedhouse operator hosting move";
  if (missing.length > 0) {
    throw new OperatorError("refused", `its node ${use.node_id} does not have ${missing.join(", ")}: ${advice}`);
  }
  if (moreBytes > Math.max(node.free_bytes, 0)) {
    throw new OperatorError("refused", `its node ${use.node_id} has no room for ${moreBytes} more bytes: ${advice}`);
  }
  await changeCommittedBytes(tx, use.node_id, moreBytes);
}
