/** Hosting accounts in the database: their rows, and the one way in which their state changes. */
import type { Context } from "#context.ts";
import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import { releaseRoomOf } from "#hosting/place.ts";
import { type HostingEvent, type HostingStatus, nextHostingStatus } from "#hosting/states.ts";
import { enqueueProvision } from "#jobs/enqueue.ts";

/** What an account's password hash is sealed for: it opens in no other row. */
export const passwordHashRow = (identifier: string) => `hosting_accounts.password_hash/${identifier}`;

const accountById = statement(
  "hosting-account-by-id",
  `SELECT id, identifier, reseller_id, uid, password_hash_sealed, disk_quota_bytes, files_max, ftp_sessions_max, status,
     node_id, backoff_count, next_step_at, error_text, created_at
   FROM hosting_accounts WHERE id = $1`,
  {
    id: "int8",
    identifier: "text",
    reseller_id: "int8",
    uid: "int8",
    password_hash_sealed: "bytea",
    disk_quota_bytes: "int8",
    files_max: "int4",
    ftp_sessions_max: "int4",
    status: "text",
    node_id: "text?",
    backoff_count: "int4",
    next_step_at: "timestamptz?",
    error_text: "text?",
    created_at: "timestamptz",
  },
);

export type Account = NonNullable<(typeof accountById)["row"]>;

// A worker that was taken for dead and works on must change nothing: whoever took over has placed the account, called it
// ready or given it up.
const updateAccount = statement(
  "hosting-account-update",
  `UPDATE hosting_accounts SET status = $3, node_id = coalesce($4, node_id), updated_at = $5, next_step_at = $6,
     backoff_count = $7, error_text = coalesce($8, error_text), operator_note = $9,
     ready_at = CASE WHEN $3 = 'Ready' THEN coalesce(ready_at, $5::timestamptz) ELSE ready_at END
   WHERE id = $1 AND status = $2 AND node_id IS NOT DISTINCT FROM $10 AND error_text IS NOT DISTINCT FROM $11
   RETURNING status, node_id, next_step_at, backoff_count, error_text`,
  { status: "text", node_id: "text?", next_step_at: "timestamptz?", backoff_count: "int4", error_text: "text?" },
);

const insertHistory = statement(
  "hosting-history-insert",
  `WITH written AS (INSERT INTO hosting_history (account_id, at, event, status, note) VALUES ($1, $2, $3, $4, $5))
   SELECT pg_notify('account_changed', $6)::text AS notified`,
  { notified: "text" },
);

export async function findAccount(context: Context, accountId: number): Promise<Account | undefined> {
  const [account] = await context.database.query(accountById, [accountId]);
  return account;
}

/** Something that happened to an account, with everything that is written together with it. */
export interface AccountHappening {
  event: HostingEvent;
  nodeId?: string;
  nextStepAt?: Date;
  note?: string;
  /** What its owner is told when it failed; written when it is given up, which is never taken back. */
  errorText?: string;
  operatorNote?: string;
}

/** Whether accounts in this state have room committed on their node. */
const holdsRoom = (status: string) => ["Provisioning", "Ready", "Suspended"].includes(status);

/** New state, history and next job in one transaction. Returns nothing when the account has changed since it was read. */
export async function happenToAccount(
  context: Context,
  tx: Transaction,
  account: Account,
  happening: AccountHappening,
): Promise<Account | undefined> {
  const status = nextHostingStatus(account.status as HostingStatus, happening.event);
  if (!status) throw new Error(`a hosting account in ${account.status} has no transition for ${happening.event}`);
  const now = context.clock.now();
  const failures = happening.nextStepAt ? account.backoff_count + 1 : 0;
  const [updated] = await tx.query(updateAccount, [
    ...[account.id, account.status, status, happening.nodeId ?? null, now, happening.nextStepAt ?? null, failures],
    ...[happening.errorText ?? null, happening.operatorNote ?? null],
    ...[account.node_id, account.error_text],
  ]);
  if (!updated) return undefined;
  if (holdsRoom(account.status) && !holdsRoom(status)) await releaseRoomOf(tx, account);
  const note = happening.operatorNote ?? happening.note ?? null;
  await tx.query(insertHistory, [account.id, now, happening.event, status, note, account.identifier]);
  if (happening.nextStepAt) await enqueueProvision(tx, account.id, happening.nextStepAt.getTime() - now.getTime());
  return { ...account, ...updated };
}
