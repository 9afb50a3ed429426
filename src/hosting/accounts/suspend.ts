/** Suspending and resuming accounts: an operator's. */
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { changeAccount } from "#hosting/accounts/change.ts";
import { lockAccount, notChangeable } from "#hosting/accounts/live-account.ts";

const setSuspended = statement(
  "hosting-account-suspended",
  "UPDATE hosting_accounts SET suspended_at = $2, suspended_reason = $3 WHERE id = $1",
  {},
);

type OperatorsContext = Pick<Context, "database" | "clock">;

/**
 * Nobody can log in any more, open sessions are cut and the site answers 503 once the account's job has been run.
 * @param reason for operators only; another one replaces that of an account that is suspended already
 * @returns the account's id and identifier
 * @throws OperatorError
 */
export async function suspendAccount(context: OperatorsContext, identifier: string, reason: string) {
  return context.database.transaction(async (tx) => {
    const account = await lockAccount(tx, identifier);
    const isTaken = await changeAccount(context, tx, account.id, { event: "suspend-wanted", note: reason });
    if (!isTaken) throw notChangeable(account);
    await tx.query(setSuspended, [account.id, account.suspended_at ?? context.clock.now(), reason]);
    return account;
  });
}

/** The opposite; of an account that is not suspended nothing is changed. @throws OperatorError */
export async function resumeAccount(context: OperatorsContext, identifier: string) {
  return context.database.transaction(async (tx) => {
    const account = await lockAccount(tx, identifier);
    if (account.suspended_at === null && account.status === "Ready") return account;
    if (!(await changeAccount(context, tx, account.id, { event: "resume-wanted" }))) throw notChangeable(account);
    await tx.query(setSuspended, [account.id, null, null]);
    return account;
  });
}
