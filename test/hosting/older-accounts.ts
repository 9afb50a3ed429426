/** Hosting accounts in the schemas of earlier releases, for tests of the migrations. */
import type { Scope } from "../harness/database.ts";
import { olderDatabase } from "../harness/older-database.ts";
import { runSql } from "../harness/sql.ts";

/**
 * A database with the reseller `own`, a service pack and accounts of that reseller.
 * @param last the number of its schema's last migration
 * @param columns of the accounts, after `identifier`
 * @param rows their values, in SQL
 */
export async function olderAccounts(
  scope: Scope,
  last: string,
  columns: string,
  rows: readonly string[],
): Promise<string> {
  const { url } = await olderDatabase(scope, last);
  await runSql(
    url,
    `WITH owner AS (INSERT INTO resellers (name, kind, rate_limit, hosting_accounts_max, hosting_bytes_max, created_at)
         VALUES ('own', 'reseller', 1, 99, 99, now()) RETURNING id),
       pack AS (INSERT INTO service_packs (name, disk_quota_bytes, files_max, ftp_sessions_max, created_at)
         VALUES ('Test', 1, 1, 1, now()) RETURNING id)
     INSERT INTO hosting_accounts (reseller_id, servicepack_id, password_hash_sealed, disk_quota_bytes, files_max,
         ftp_sessions_max, created_at, updated_at, identifier, ${columns})
       SELECT owner.id, pack.id, '', 1, 1, 1, now(), now(), identifier, ${columns}
       FROM owner, pack, (VALUES ${rows.join(", ")}) AS account (identifier, ${columns})`,
  );
  return url;
}
