/** The operator's suspension of accounts; the reseller's (set-suspension.ts) is independent of it. */
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { requestChange } from "#hosting/accounts/accounts.ts";
import { lockAccount, notChangeable } from "#hosting/accounts/find-account.ts";

const setSuspended = statement(
  "hosting-account-suspended",
  "UPDATE hosting_accounts SET suspended_at = $suspended_at, suspended_reason = $reason WHERE id = $id",
  {},
);

type OperatorsContext = Pick<Context, "database" | "clock">;

/**
 * Once the account's step has run, logins are refused, open sessions are cut and the site answers 503.
 * @param reason for operators only; replaces the reason of an account that is already suspended
 * @returns the account's id and identifier
 * @throws OperatorError
 */
export async function suspendAccount(context: OperatorsContext, identifier: string, reason: string) {
  return context.database.transaction(async (tx) => {
    const account = await lockAccount(tx, identifier);
    if (!(await requestChange(context, tx, account.id, "suspend-wanted", reason))) throw notChangeable(account);
    const suspended_at = account.suspended_at ?? context.clock.now();
    await tx.query(setSuspended, { id: account.id, suspended_at, reason });
    return account;
  });
}

/** Lifts the operator's suspension. An account that has none is left unchanged. @throws OperatorError */
export async function resumeAccount(context: OperatorsContext, identifier: string) {
  return context.database.transaction(async (tx) => {
    const account = await lockAccount(tx, identifier);
    const { status, suspended_at, reseller_suspended_at } = account;
    if (suspended_at === null && (status === "Ready" || reseller_suspended_at !== null)) return account;
    if (!(await requestChange(context, tx, account.id, "resume-wanted"))) throw notChangeable(account);
    await tx.query(setSuspended, { id: account.id, suspended_at: null, reason: null });
    return account;
  });
}
