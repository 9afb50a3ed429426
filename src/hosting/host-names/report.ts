import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { canonicalForLookUp, hostNameColumns, presentHostName } from "#hosting/host-names/host-names.ts";

// One row without a name for an account that has none.
const hostNamesOfAnyAccount = statement(
  "operator-host-names",
  `SELECT host_name, proof, host.status, proven_by, reason, host.created_at, checked_at, next_check_at
   FROM hosting_accounts AS account LEFT JOIN host_names AS host ON host.account_id = account.id
   WHERE account.identifier = $1 AND account.status NOT IN ('Failed', 'Removed')
   ORDER BY host_name`,
  { ...hostNameColumns, host_name: "text?", proof: "text?", status: "text?", created_at: "timestamptz?" },
);

/** For the operator: the host names of whoever's account, or undefined when there is no such account. */
export async function reportHostNames({ database }: Pick<Context, "database">, identifier: string) {
  const rows = await database.query(hostNamesOfAnyAccount, [canonicalForLookUp(identifier)]);
  if (rows.length === 0) return undefined;
  return rows
    .filter((row) => row.host_name !== null)
    .map(presentHostName)
    .map(({ record, ...shown }) => ({ ...shown, record: record.name, value: record.value }));
}
