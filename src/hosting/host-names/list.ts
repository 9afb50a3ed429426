import { statement } from "#db/statement.ts";
import { ApiError } from "#errors.ts";
import { canonicalForLookUp, hostNameColumns, presentHostName } from "#hosting/host-names/host-names.ts";
import type { UseCase } from "#use-case/use-case.ts";

// One row without a name for an account that has none.
const hostNamesOfAccount = statement(
  "host-names-of-account",
  `SELECT host_name, proof, host.status, proven_by, reason, host.created_at, checked_at, next_check_at
   FROM hosting_accounts AS account LEFT JOIN host_names AS host ON host.account_id = account.id
   WHERE account.reseller_id = $1 AND account.identifier = $2 AND account.status NOT IN ('Failed', 'Removed')
   ORDER BY host_name`,
  { ...hostNameColumns, host_name: "text?", proof: "text?", status: "text?", created_at: "timestamptz?" },
);

/** GET /hostingaccounts/<identifier>/hosts: the account's host names in byte order, all of them: a pack limits them. */
export const listHostNames: UseCase = {
  errors: ["hostingaccount_invalid_identifier"],
  scope: "hosting:read",

  async handle(context, request) {
    const identifier = canonicalForLookUp(request.params.identifier ?? "");
    const rows = await context.database.point(hostNamesOfAccount, [request.caller.resellerId, identifier]);
    if (rows.length === 0) throw new ApiError("hostingaccount_invalid_identifier");
    return { status: 200, body: rows.filter((row) => row.host_name !== null).map(presentHostName) };
  },
};
