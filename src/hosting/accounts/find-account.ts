/** Finds the account that an identifier belongs to: for its owner in the API, and for operators. */
import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import { ApiError } from "#errors.ts";
import { hostingStatuses } from "#hosting/accounts/states.ts";
import { canonicalForLookUp, parseHostIdentifier } from "#lib/host-identifier.ts";
import { OperatorError } from "#operator-error.ts";
import type { UseCaseRequest } from "#use-case/use-case.ts";

/** SQL: an identifier may have a live account and older ones that failed. */
export const liveThenNewest = "(status = 'Failed'), id DESC";

const callersAccount = statement(
  "hosting-callers-account",
  `SELECT id, identifier, status, removal_requested_at FROM hosting_accounts
   WHERE reseller_id = $reseller_id AND identifier = $identifier AND status <> 'Removed'
   ORDER BY ${liveThenNewest} LIMIT 1`,
  { id: "int8", identifier: "text", status: hostingStatuses, removal_requested_at: "timestamptz?" },
);

/**
 * The caller's account in the request's path.
 * @throws ApiError `hostingaccount_invalid_identifier`, the same for another reseller's account as for an unknown identifier
 */
export async function getCallersAccount(database: Pick<Transaction, "query">, { caller, params }: UseCaseRequest) {
  const identifier = canonicalForLookUp(params.identifier ?? "");
  const [account] = await database.query(callersAccount, { reseller_id: caller.resellerId, identifier });
  if (!account) throw new ApiError("hostingaccount_invalid_identifier");
  return account;
}

const lockNewest = statement(
  "hosting-account-lock-newest",
  `SELECT id, identifier, reseller_id, status, suspended_at, reseller_suspended_at, removal_requested_at FROM hosting_accounts
   WHERE identifier = $identifier AND status <> 'Removed' ORDER BY ${liveThenNewest} LIMIT 1 FOR UPDATE`,
  {
    id: "int8",
    identifier: "text",
    reseller_id: "int8",
    status: hostingStatuses,
    suspended_at: "timestamptz?",
    reseller_suspended_at: "timestamptz?",
    removal_requested_at: "timestamptz?",
  },
);

/** Accepts every spelling of an identifier that an account can have. @throws InvalidHostIdentifier */
export const parseIdentifier = (text: string): string => parseHostIdentifier(text, { reservedHosts: [] });

/** For operators: locks the live account, or else the one that failed last. @throws OperatorError */
export async function lockAccount(tx: Pick<Transaction, "query">, text: string) {
  const identifier = parseIdentifier(text);
  const [account] = await tx.query(lockNewest, { identifier });
  if (!account) throw new OperatorError("not-found", `there is no hosting account ${identifier}`);
  return account;
}

const adviceByStatus: Readonly<Record<string, string>> = {
  Provisioning: "is Provisioning: wait until it is ready, or remove it",
  Failed: "is Failed: there is nothing to change",
};

/** Says why an account cannot be changed. */
export function notChangeable({ identifier, status, removal_requested_at }: Awaited<ReturnType<typeof lockAccount>>) {
  const why = removal_requested_at ? "is being removed" : (adviceByStatus[status] ?? `is ${status}`);
  return new OperatorError("refused", `${identifier} ${why}`);
}
