import type { Context } from "#context.ts";
import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import { applyAccountEvent, findAccount, requestChange } from "#hosting/accounts/accounts.ts";
import { getCallersAccount } from "#hosting/accounts/find-account.ts";
import type { UseCase } from "#use-case/use-case.ts";

const setRemovalRequested = statement(
  "hosting-account-request-removal",
  "UPDATE hosting_accounts SET removal_requested_at = $now WHERE id = $id",
  {},
);

const failedOfSameName = statement(
  "hosting-accounts-failed-of-same-name",
  `SELECT failed.id FROM hosting_accounts AS account JOIN hosting_accounts AS failed USING (reseller_id, identifier)
   WHERE account.id = $id AND failed.status = 'Failed'`,
  { id: "int8" },
);

/** DELETE /hostingaccounts/<identifier>: 202; the account exists until its node has confirmed that login and site are gone. */
export const deleteHostingAccount: UseCase = {
  errors: ["hostingaccount_invalid_identifier"],
  scope: "hosting:delete",
  docs: {
    operation: "deleteHostingAccount",
    summary: "Deletes a hosting account.",
    description: "It can be read until its server has confirmed that login and site are removed.",
    answers: { 202: { description: "It is being deleted; a repeat gets the same answer.", headers: ["location"] } },
  },

  async handle(context, request) {
    return context.database.transaction(async (tx) => {
      const { id, identifier } = await getCallersAccount(tx, request);
      await requestRemoval(context, tx, id, `by key ${request.caller.keyId}`);
      const answer = { status: 202, headers: { location: `${request.prefix}/hostingaccounts/${identifier}` } };
      await request.commit(tx, answer);
      return answer;
    });
  },
};

/**
 * Requests the removal of an account; a second request changes nothing. Failed accounts are removed at once, because no node
 * has anything of them: the account itself, or older ones of its owner, which would show up again in its place.
 */
export async function requestRemoval(
  context: Pick<Context, "database" | "clock" | "log">,
  tx: Transaction,
  accountId: number,
  note: string,
): Promise<void> {
  if (await requestChange(context, tx, accountId, "removal-wanted", note)) {
    await tx.query(setRemovalRequested, { id: accountId, now: context.clock.now() });
  }
  for (const { id } of await tx.query(failedOfSameName, { id: accountId })) {
    const failed = await findAccount(tx, id);
    if (failed) await applyAccountEvent(context, tx, failed, { event: "removed", note });
  }
}
