import Type from "typebox";
import type { Context } from "#context.ts";
import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import { ApiError } from "#errors.ts";
import { passwordHashRow } from "#hosting/accounts/accounts.ts";
import { changeAccount } from "#hosting/accounts/change.ts";
import { hashPassword, parsePassword } from "#hosting/accounts/hash-password.ts";
import { getOwnAccount } from "#hosting/accounts/own-account.ts";
import type { Secret } from "#lib/secret.ts";
import { parseBody } from "#use-case/body.ts";
import type { UseCase } from "#use-case/use-case.ts";

const requestBody = Type.Object({ password: Type.String() });

const savePasswordHash = statement(
  "hosting-account-password",
  "UPDATE hosting_accounts SET password_hash_sealed = $2 WHERE id = $1",
  {},
);

/** PUT /hostingaccounts/<identifier>/password: 202; within seconds it opens the account, and the old one does not. */
export const setHostingPassword: UseCase = {
  errors: ["bad_request", "hostingaccount_invalid_identifier", "hostingaccount_not_changeable", "service_unavailable"],
  scope: "hosting:update",

  async handle(context, request) {
    const body = parseBody(requestBody, request.rawBody);
    const account = await getOwnAccount(context.database, request);
    const password = await parsePassword(context, body.password, account.identifier);
    // Asked before the hash, to spare it.
    if (account.status === "Failed" || account.removal_requested_at)
      throw new ApiError("hostingaccount_not_changeable");
    const hash = await hashPassword(context, request.caller.resellerId, password);
    const answer = { status: 202, headers: { location: `${request.prefix}/hostingaccounts/${account.identifier}` } };
    await context.database.transaction(async (tx) => {
      const isTaken = await wantPassword(context, tx, { ...account, hash, note: `by key ${request.caller.keyId}` });
      if (!isTaken) throw new ApiError("hostingaccount_not_changeable");
      await request.commit(tx, answer);
    });
    return answer;
  },
};

interface NewPassword {
  id: number;
  identifier: string;
  hash: Secret;
  note: string;
}

/** Returns false when the account has failed, or is to be removed. */
export async function wantPassword(
  context: Pick<Context, "clock" | "sealer">,
  tx: Pick<Transaction, "query">,
  { id, identifier, hash, note }: NewPassword,
): Promise<boolean> {
  if (!(await changeAccount(context, tx, id, { event: "password-wanted", note }))) return false;
  await tx.query(savePasswordHash, [id, context.sealer.seal(passwordHashRow(identifier), hash)]);
  return true;
}
