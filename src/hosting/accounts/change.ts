/**
 * How an account comes to be wished otherwise: its row says what shall be, every change counts its version up and enqueues
 * its one job in the same transaction, and the job brings the node to what the row says.
 */
import type { Context } from "#context.ts";
import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import { type HostingWish, statusesFor } from "#hosting/accounts/states.ts";
import { enqueueProvision } from "#queue/enqueue.ts";

// What was asked first and is not in force yet says since when the account is not what it shall be. What waits for its next
// try is tried at once. After the wish to be gone there is no other.
const wantChange = statement(
  "hosting-account-want",
  `UPDATE hosting_accounts SET wanted_version = wanted_version + 1, updated_at = $3, next_step_at = NULL, backoff_count = 0,
     wanted_at = CASE WHEN applied_version < wanted_version THEN wanted_at ELSE $3 END
   WHERE id = $1 AND status = ANY ($2::text[]) AND removal_requested_at IS NULL RETURNING identifier, status`,
  { identifier: "text", status: "text" },
);

const insertWish = statement(
  "hosting-history-wish",
  `WITH written AS (INSERT INTO hosting_history (account_id, at, event, status, note) VALUES ($1, $2, $3, $4, $5))
   SELECT pg_notify('account_changed', $6)::text AS notified`,
  { notified: "text" },
);

export interface AccountChange {
  event: HostingWish;
  /** For the operator; never a secret. */
  note?: string;
}

/**
 * Marks an account as changed and enqueues its job; the caller changes the row's other columns after it, in the same
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
  const [account] = await tx.query(wantChange, [accountId, statusesFor(event), now]);
  if (!account) return false;
  await tx.query(insertWish, [accountId, now, event, account.status, note ?? null, account.identifier]);
  await enqueueProvision(tx, accountId, 0);
  return true;
}
