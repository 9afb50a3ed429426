/**
 * How something else is wanted of an account: its row says what is wanted, every change counts `wanted_version` up and makes
 * the row due, and the account's next step brings the node to what the row says.
 */
import type { Context } from "#context.ts";
import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import { type HostingWish, statusesFor } from "#hosting/accounts/states.ts";

// What was asked first and is not in force yet says since when the account is not what it shall be. What waits for its next
// try is tried at once. After the wish to be gone there is no other.
const wantChange = statement(
  "hosting-account-want",
  `UPDATE hosting_accounts SET wanted_version = wanted_version + 1, updated_at = $now, next_step_at = $now, backoff_count = 0,
     wanted_at = CASE WHEN applied_version < wanted_version THEN wanted_at ELSE $now END
   WHERE id = $id AND status = ANY ($statuses::text[]) AND removal_requested_at IS NULL RETURNING identifier, status`,
  { identifier: "text", status: "text" },
);

const insertWish = statement(
  "hosting-history-wish",
  `WITH written AS (INSERT INTO hosting_history (account_id, at, event, status, note) VALUES ($account_id, $at, $event, $status, $note))
   SELECT pg_notify('account_changed', $identifier)::text AS notified`,
  { notified: "text" },
);

export interface AccountChange {
  event: HostingWish;
  /** For the operator; never a secret. */
  note?: string;
}

/**
 * Marks an account as changed, which makes it due; the caller changes the row's other columns after it, in the same
 * transaction, under the row lock that this takes.
 * @returns false when the account's state does not allow the change, or it is to be removed: then nothing is done
 */
export async function changeAccount(
  { clock }: Pick<Context, "clock">,
  tx: Pick<Transaction, "query">,
  accountId: number,
  { event, note }: AccountChange,
): Promise<boolean> {
  const now = clock.now();
  const [account] = await tx.query(wantChange, { id: accountId, statuses: statusesFor(event), now });
  if (!account) return false;
  const { identifier, status } = account;
  await tx.query(insertWish, { account_id: accountId, at: now, event, status, note: note ?? null, identifier });
  return true;
}
