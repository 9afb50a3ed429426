import Type from "typebox";
import { statement } from "#db/statement.ts";
import { ApiError, invalidField } from "#errors.ts";
import { requestChange } from "#hosting/accounts/accounts.ts";
import { getCallersAccount } from "#hosting/accounts/find-account.ts";
import { parseBody } from "#use-case/body.ts";
import type { UseCase } from "#use-case/use-case.ts";

const requestBody = Type.Object({ enabled: Type.Boolean({ examples: [false] }) });

const lockFtp = statement(
  "hosting-account-lock-ftp",
  `SELECT ftp_is_off, 'ftp' = ANY (pack.features) AS has_ftp, password_hash_sealed <> '' AS has_password
   FROM hosting_accounts AS account JOIN service_packs AS pack
     ON pack.id = servicepack_id AND pack.version = servicepack_version
   WHERE account.id = $id FOR UPDATE OF account`,
  { ftp_is_off: "bool", has_ftp: "bool", has_password: "bool" },
);

const setFtp = statement(
  "hosting-account-set-ftp",
  "UPDATE hosting_accounts SET ftp_is_off = $is_off WHERE id = $id",
  {},
);

const withoutPassword =
  "The account has no password, so nobody can log in. Set one with PUT /v1/hostingaccounts/<identifier>/password.";

/** Enables or disables FTP: 204. Within seconds logins work, or are refused and open sessions end. */
export const configureFtp: UseCase = {
  errors: ["bad_request", "hostingaccount_invalid_identifier", "hostingaccount_not_changeable"],
  scope: "hosting:update",
  docs: {
    operation: "configureFtp",
    summary: "Enables or disables FTP of a hosting account.",
    body: requestBody,
    answers: { 204: { description: "Within seconds it is in effect; a repeat gets the same answer." } },
  },

  async handle(context, request) {
    const { enabled } = parseBody(requestBody, request.rawBody);
    const answer = { status: 204 };
    await context.database.transaction(async (tx) => {
      const { id, status, removal_requested_at } = await getCallersAccount(tx, request);
      if (status === "Failed" || removal_requested_at) throw new ApiError("hostingaccount_not_changeable");
      const [ftp] = await tx.query(lockFtp, { id });
      if (enabled && !ftp?.has_ftp) throw invalidField("enabled", "The account's service pack has no FTP.");
      if (enabled && !ftp?.has_password) throw invalidField("enabled", withoutPassword);
      if (ftp?.ftp_is_off === enabled) {
        const note = `${enabled ? "enabled" : "disabled"} by key ${request.caller.keyId}`;
        const isAccepted = await requestChange(context, tx, id, "ftp-wanted", note);
        if (!isAccepted) throw new ApiError("hostingaccount_not_changeable");
        await tx.query(setFtp, { id, is_off: !enabled });
      }
      await request.commit(tx, answer);
    });
    return answer;
  },
};
