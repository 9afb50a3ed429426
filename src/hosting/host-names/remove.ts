import { statement } from "#db/statement.ts";
import { ApiError } from "#errors.ts";
import { requestChange } from "#hosting/accounts/accounts.ts";
import { hostNameStatuses } from "#hosting/host-names/states.ts";
import { canonicalForLookUp } from "#lib/host-identifier.ts";
import type { UseCase } from "#use-case/use-case.ts";

const lockAccount = statement(
  "host-name-remove-account",
  `SELECT id FROM hosting_accounts
   WHERE reseller_id = $reseller_id AND identifier = $identifier AND status NOT IN ('Failed', 'Removed') FOR NO KEY UPDATE`,
  { id: "int8" },
);

const removeHostName = statement(
  "host-name-remove",
  "DELETE FROM host_names WHERE account_id = $account_id AND host_name = $host_name RETURNING status",
  { status: hostNameStatuses },
);

/** DELETE /hostingaccounts/<identifier>/hosts/<host_name>: 202; the site stops answering there within seconds. */
export const removeHostNameFromAccount: UseCase = {
  errors: ["hostingaccount_invalid_identifier", "host_name_not_found"],
  scope: "hosting:update",
  docs: {
    operation: "removeHostName",
    summary: "Removes a host name from a hosting account.",
    answers: { 202: { description: "The site stops answering there within seconds.", headers: ["location"] } },
  },

  async handle(context, request) {
    const identifier = canonicalForLookUp(request.params.identifier ?? "");
    const hostName = canonicalForLookUp(request.params.host_name ?? "");
    return context.database.transaction(async (tx) => {
      const [account] = await tx.query(lockAccount, { reseller_id: request.caller.resellerId, identifier });
      if (!account) throw new ApiError("hostingaccount_invalid_identifier");
      const [removed] = await tx.query(removeHostName, { account_id: account.id, host_name: hostName });
      if (!removed) throw new ApiError("host_name_not_found");
      if (removed.status === "Proven") {
        await requestChange(context, tx, account.id, "host-names-wanted", `${hostName}: removed`);
      }
      const answer = { status: 202, headers: { location: `${request.prefix}/hostingaccounts/${identifier}/hosts` } };
      await request.commit(tx, answer);
      return answer;
    });
  },
};
