/** The caller's account of an identifier. */

import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import { ApiError } from "#errors.ts";
import { canonicalForLookUp } from "#hosting/host-names/host-names.ts";
import type { UseCaseRequest } from "#use-case/use-case.ts";

/** SQL: of one reseller's accounts of an identifier the one that is meant: failed ones may come before a live one. */
export const newestFirst = "(status = 'Failed'), id DESC";

const ownAccount = statement(
  "hosting-own-account",
  `SELECT id, identifier, status, removal_requested_at FROM hosting_accounts
   WHERE reseller_id = $1 AND identifier = $2 AND status <> 'Removed' ORDER BY ${newestFirst} LIMIT 1`,
  { id: "int8", identifier: "text", status: "text", removal_requested_at: "timestamptz?" },
);

/** @throws ApiError `hostingaccount_invalid_identifier`, the same for another's and for nobody's */
export async function getOwnAccount(database: Pick<Transaction, "query">, { caller, params }: UseCaseRequest) {
  const [account] = await database.query(ownAccount, [caller.resellerId, canonicalForLookUp(params.identifier ?? "")]);
  if (!account) throw new ApiError("hostingaccount_invalid_identifier");
  return account;
}
