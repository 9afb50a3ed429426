/** The account that an identifier belongs to, whoever owns it: for operators. */
import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import { parseHostIdentifier } from "#lib/host-identifier.ts";
import { OperatorError } from "#operator-error.ts";

const lockNewest = statement(
  "hosting-account-lock-newest",
  `SELECT id, identifier, reseller_id, status, suspended_at, removal_requested_at FROM hosting_accounts
   WHERE identifier = $1 AND status <> 'Removed' ORDER BY (status = 'Failed'), id DESC LIMIT 1 FOR UPDATE`,
  {
    id: "int8",
    identifier: "text",
    reseller_id: "int8",
    status: "text",
    suspended_at: "timestamptz?",
    removal_requested_at: "timestamptz?",
  },
);

/** Any spelling of an identifier that an account can have. @throws InvalidHostIdentifier */
export const parseIdentifier = (text: string): string => parseHostIdentifier(text, { reservedHosts: [] });

/** Locks the live account of an identifier; when there is none, the one that failed last. @throws OperatorError */
export async function lockAccount(tx: Pick<Transaction, "query">, text: string) {
  const identifier = parseIdentifier(text);
  const [account] = await tx.query(lockNewest, [identifier]);
  if (!account) throw new OperatorError("not-found", `there is no hosting account ${identifier}`);
  return account;
}

const adviceByStatus: Readonly<Record<string, string>> = {
  Provisioning: "is Provisioning: wait until it is ready, or remove it",
  Failed: "is Failed: there is nothing to change",
};

/** Why an account cannot be changed. */
export function notChangeable({ identifier, status, removal_requested_at }: Awaited<ReturnType<typeof lockAccount>>) {
  const why = removal_requested_at ? "is being removed" : (adviceByStatus[status] ?? `is ${status}`);
  return new OperatorError("refused", `${identifier} ${why}`);
}
