import type { Context } from "#context.ts";
import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import { findAccount, happenToAccount } from "#hosting/accounts/accounts.ts";
import { changeAccount } from "#hosting/accounts/change.ts";
import { getOwnAccount } from "#hosting/accounts/own-account.ts";
import type { UseCase } from "#use-case/use-case.ts";

const requestRemoval = statement(
  "hosting-account-request-removal",
  "UPDATE hosting_accounts SET removal_requested_at = $2 WHERE id = $1",
  {},
);

const failedOfSameName = statement(
  "hosting-accounts-failed-of-same-name",
  `SELECT failed.id FROM hosting_accounts AS account JOIN hosting_accounts AS failed USING (reseller_id, identifier)
   WHERE account.id = $1 AND failed.status = 'Failed'`,
  { id: "int8" },
);

/** DELETE /hostingaccounts/<identifier>: 202; the account is there until its node has said that login and site are gone. */
export const deleteHostingAccount: UseCase = {
  errors: ["hostingaccount_invalid_identifier"],
  scope: "hosting:delete",

  async handle(context, request) {
    return context.database.transaction(async (tx) => {
      const { id, identifier } = await getOwnAccount(tx, request);
      await wantRemoval(context, tx, id, `by key ${request.caller.keyId}`);
      const answer = { status: 202, headers: { location: `${request.prefix}/hostingaccounts/${identifier}` } };
      await request.commit(tx, answer);
      return answer;
    });
  },
};

/**
 * An account shall be gone; asked again, nothing changes. What failed goes at once, for nothing of it is on any node: the
 * account itself, or earlier ones of its owner that would show again in its place.
 */
export async function wantRemoval(
  context: Pick<Context, "database" | "clock" | "log">,
  tx: Transaction,
  accountId: number,
  note: string,
): Promise<void> {
  if (await changeAccount(context, tx, accountId, { event: "removal-wanted", note })) {
    await tx.query(requestRemoval, [accountId, context.clock.now()]);
  }
  for (const { id } of await tx.query(failedOfSameName, [accountId])) {
    const failed = await findAccount(tx, id);
    if (failed) await happenToAccount(context, tx, failed, { event: "removed", note });
  }
}
