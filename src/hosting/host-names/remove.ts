import { statement } from "#db/statement.ts";
import { ApiError } from "#errors.ts";
import { changeAccount } from "#hosting/accounts/change.ts";
import { canonicalForLookUp } from "#hosting/host-names/host-names.ts";
import type { UseCase } from "#use-case/use-case.ts";

const lockAccount = statement(
  "host-name-remove-account",
  `SELECT id FROM hosting_accounts
   WHERE reseller_id = $1 AND identifier = $2 AND status NOT IN ('Failed', 'Removed') FOR NO KEY UPDATE`,
  { id: "int8" },
);

const removeHostName = statement(
  "host-name-remove",
  "DELETE FROM host_names WHERE account_id = $1 AND host_name = $2 RETURNING status",
  { status: "text" },
);

/** DELETE /hostingaccounts/<identifier>/hosts/<host_name>: 202; the site stops answering there within seconds. */
export const removeHostNameFromAccount: UseCase = {
  errors: ["hostingaccount_invalid_identifier", "host_name_not_found"],
  scope: "hosting:update",

  async handle(context, request) {
    const identifier = canonicalForLookUp(request.params.identifier ?? "");
    const hostName = canonicalForLookUp(request.params.host_name ?? "");
    return context.database.transaction(async (tx) => {
      const [account] = await tx.query(lockAccount, [request.caller.resellerId, identifier]);
      if (!account) throw new ApiError("hostingaccount_invalid_identifier");
      const [removed] = await tx.query(removeHostName, [account.id, hostName]);
      if (!removed) throw new ApiError("host_name_not_found");
      const wish = { event: "host-names-wanted" as const, note: `${hostName}: taken away` };
      if (removed.status === "Proven") await changeAccount(context, tx, account.id, wish);
      const answer = { status: 202, headers: { location: `${request.prefix}/hostingaccounts/${identifier}/hosts` } };
      await request.commit(tx, answer);
      return answer;
    });
  },
};
