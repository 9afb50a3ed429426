import Type from "typebox";
import type { Context } from "#context.ts";
import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import { ApiError, invalidField, unavailable } from "#errors.ts";
import { passwordHashRow, requestChange } from "#hosting/accounts/accounts.ts";
import { getCallersAccount } from "#hosting/accounts/find-account.ts";
import { checkFtpPassword } from "#lib/ftp-password.ts";
import { PasswordQueueFull } from "#lib/queues/password-queue.ts";
import type { Secret } from "#lib/secret.ts";
import { parseBody } from "#use-case/body.ts";
import type { UseCase } from "#use-case/use-case.ts";

/**
 * @param field the password's name in the body
 * @throws ApiError `bad_request` that says what is wrong with the password, without repeating it
 */
export async function parsePassword(
  context: Context,
  text: string,
  identifier: string,
  field = "password",
): Promise<Secret> {
  const verdict = checkFtpPassword(text, identifier, await context.commonPasswords());
  if (!verdict.ok) throw invalidField(field, `The password ${verdict.reason}.`);
  return verdict.password;
}

/** @throws ApiError `service_unavailable` when too many passwords are waiting */
export async function hashPassword(context: Context, resellerId: number, password: Secret): Promise<Secret> {
  try {
    return await context.passwordQueue.hash(String(resellerId), password);
  } catch (error) {
    if (!(error instanceof PasswordQueueFull)) throw error;
    throw unavailable(error.retryAfterSeconds, "Too many passwords are being set right now; try again in a moment.");
  }
}

/** A password in a body. */
export const passwordField = Type.String({
  format: "password",
  description: "8 to 64 characters, at most 72 bytes; not a common password, and without the identifier.",
  examples: ["xkn3qjfYGmrM6jqfwuA4sQY4"],
});

const requestBody = Type.Object({ password: passwordField });

/** PUT /hostingaccounts/<identifier>/password: 202; within seconds the new password works, and the old one does not. */
export const setHostingPassword: UseCase = {
  errors: ["bad_request", "hostingaccount_invalid_identifier", "hostingaccount_not_changeable", "service_unavailable"],
  scope: "hosting:update",
  docs: {
    operation: "setHostingPassword",
    summary: "Sets the password of a hosting account.",
    description: "Within seconds the new password works, the old one does not, and open FTP sessions are closed.",
    body: requestBody,
    answers: { 202: { description: "It is being applied.", headers: ["location"] } },
  },

  async handle(context, request) {
    const body = parseBody(requestBody, request.rawBody);
    const account = await getCallersAccount(context.database, request);
    const password = await parsePassword(context, body.password, account.identifier);
    // Checked before the hash, which is expensive.
    if (account.status === "Failed" || account.removal_requested_at) {
      throw new ApiError("hostingaccount_not_changeable");
    }
    const hash = await hashPassword(context, request.caller.resellerId, password);
    const answer = { status: 202, headers: { location: `${request.prefix}/hostingaccounts/${account.identifier}` } };
    await context.database.transaction(async (tx) => {
      const isAccepted = await changePassword(context, tx, account, hash, `by key ${request.caller.keyId}`);
      if (!isAccepted) throw new ApiError("hostingaccount_not_changeable");
      await request.commit(tx, answer);
    });
    return answer;
  },
};

const savePasswordHash = statement(
  "hosting-account-password",
  "UPDATE hosting_accounts SET password_hash_sealed = $password_hash_sealed WHERE id = $id",
  {},
);

/** @returns false when the account has failed or is being removed */
export async function changePassword(
  context: Pick<Context, "clock" | "sealer">,
  tx: Pick<Transaction, "query">,
  { id, identifier }: { id: number; identifier: string },
  hash: Secret,
  note: string,
): Promise<boolean> {
  if (!(await requestChange(context, tx, id, "password-wanted", note))) return false;
  const sealed = context.sealer.seal(passwordHashRow(identifier), hash);
  await tx.query(savePasswordHash, { id, password_hash_sealed: sealed });
  return true;
}
