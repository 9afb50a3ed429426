/** Hosting accounts in the database: their rows, and the one way in which their state changes. */
import { raiseAlarm, resolveAlarm } from "#alarms.ts";
import type { Context } from "#context.ts";
import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import { type HostingEvent, type HostingStatus, nextHostingStatus } from "#hosting/accounts/states.ts";
import { provenHostNames } from "#hosting/host-names/host-names.ts";
import { releaseRoomOf } from "#hosting/nodes/place.ts";
import { enqueueProvision } from "#queue/enqueue.ts";

/** What an account's password hash is sealed for: it opens in no other row. */
export const passwordHashRow = (identifier: string) => `hosting_accounts.password_hash/${identifier}`;

const accountById = statement(
  "hosting-account-by-id",
  `SELECT account.id, identifier, reseller_id, uid, password_hash_sealed, account.disk_quota_bytes, account.files_max,
     account.ftp_sessions_max, 'ftp' = ANY (pack.features) AS has_ftp, is_frozen, pack.node_tags, status, node_id,
     backoff_count, error_text, account.created_at, must_check_uid, wanted_version, applied_version, wanted_at, suspended_at, removal_requested_at,
     ${provenHostNames} AS host_names
   FROM hosting_accounts AS account JOIN service_packs AS pack
     ON pack.id = servicepack_id AND pack.version = servicepack_version
   WHERE account.id = $1`,
  {
    id: "int8",
    identifier: "text",
    reseller_id: "int8",
    uid: "int8",
    password_hash_sealed: "bytea",
    disk_quota_bytes: "int8",
    files_max: "int4",
    ftp_sessions_max: "int4",
    has_ftp: "bool",
    is_frozen: "bool",
    node_tags: "text[]",
    status: "text",
    node_id: "text?",
    backoff_count: "int4",
    error_text: "text?",
    created_at: "timestamptz",
    must_check_uid: "bool",
    wanted_version: "int8",
    applied_version: "int8",
    wanted_at: "timestamptz",
    suspended_at: "timestamptz?",
    removal_requested_at: "timestamptz?",
    host_names: "text[]",
  },
);

export type Account = NonNullable<(typeof accountById)["row"]>;

// A worker that was taken for dead and works on must change nothing: whoever took over has placed the account, called it
// ready or given it up, or drawn another uid for it. Nor must what was found out about an account that shall be otherwise by
// now. What is over needs no password any more. No node knows the uid of an account that is only just placed.
const updateAccount = statement(
  "hosting-account-update",
  `UPDATE hosting_accounts SET status = $3, node_id = coalesce($4, node_id), updated_at = $5, next_step_at = $6,
     backoff_count = $7, error_text = coalesce($8, error_text), operator_note = $9,
     ready_at = CASE WHEN $3 = 'Ready' THEN coalesce(ready_at, $5::timestamptz) ELSE ready_at END,
     applied_version = CASE WHEN $12 THEN wanted_version ELSE applied_version END,
     must_check_uid = must_check_uid OR $4 IS NOT NULL,
     password_hash_sealed = CASE WHEN $3 IN ('Failed', 'Removed') THEN '' ELSE password_hash_sealed END
   WHERE id = $1 AND status = $2 AND node_id IS NOT DISTINCT FROM $10 AND error_text IS NOT DISTINCT FROM $11
     AND wanted_version = $13 AND uid = $14
   RETURNING status, node_id, backoff_count, error_text, applied_version, must_check_uid`,
  {
    status: "text",
    node_id: "text?",
    backoff_count: "int4",
    error_text: "text?",
    applied_version: "int8",
    must_check_uid: "bool",
  },
);

// The same doubt again is the same line.
const insertHistory = statement(
  "hosting-history-insert",
  `WITH last AS (SELECT id, event, note FROM hosting_history WHERE account_id = $1 ORDER BY id DESC LIMIT 1),
   repeated AS (
     UPDATE hosting_history AS line SET last_at = $2, count = line.count + 1 FROM last
     WHERE line.id = last.id AND $3 = 'doubtful' AND last.event = $3 AND last.note IS NOT DISTINCT FROM $5
     RETURNING line.id),
   written AS (
     INSERT INTO hosting_history (account_id, at, event, status, note)
     SELECT $1, $2, $3, $4, $5 WHERE NOT EXISTS (SELECT FROM repeated))
   SELECT pg_notify('account_changed', $6)::text AS notified`,
  { notified: "text" },
);

export async function findAccount(
  database: Pick<Transaction, "query">,
  accountId: number,
): Promise<Account | undefined> {
  const [account] = await database.query(accountById, [accountId]);
  return account;
}

/** Something that happened to an account, with everything that is written together with it. */
export interface AccountHappening {
  event: HostingEvent;
  nodeId?: string;
  nextStepAt?: Date;
  /** For the operator: the account's line in its history, and what it waits for. */
  note?: string;
  /** What its owner is told when it failed; written when it is given up, which is never taken back. */
  errorText?: string;
  /** A person has to look: until the account is what it shall be, or gone. */
  alarm?: string;
}

/** After these the account is what it shall be. */
const settling: readonly HostingEvent[] = ["probed", "refused", "applied", "suspended", "resumed", "removed"];

/** Whether accounts in this state have room committed on their node. */
const holdsRoom = (status: string) => ["Provisioning", "Ready", "Suspended"].includes(status);

/** New state, history and next job in one transaction. Returns nothing when the account has changed since it was read. */
export async function happenToAccount(
  context: Pick<Context, "database" | "clock" | "log">,
  tx: Transaction,
  account: Account,
  happening: AccountHappening,
): Promise<Account | undefined> {
  const status = nextHostingStatus(account.status as HostingStatus, happening.event);
  if (!status) throw new Error(`a hosting account in ${account.status} has no transition for ${happening.event}`);
  const now = context.clock.now();
  const failures = happening.nextStepAt ? account.backoff_count + 1 : 0;
  const isSettled = settling.includes(happening.event);
  const [updated] = await tx.query(updateAccount, [
    ...[account.id, account.status, status, happening.nodeId ?? null, now, happening.nextStepAt ?? null, failures],
    ...[happening.errorText ?? null, happening.note ?? null],
    ...[account.node_id, account.error_text, isSettled, account.wanted_version, account.uid],
  ]);
  if (!updated) return undefined;
  if (holdsRoom(account.status) && !holdsRoom(status)) await releaseRoomOf(tx, account);
  const note = happening.note ?? null;
  await tx.query(insertHistory, [account.id, now, happening.event, status, note, account.identifier]);
  if (happening.nextStepAt) await enqueueProvision(tx, account.id, happening.nextStepAt.getTime() - now.getTime());
  const alarm = { kind: "hosting", subject: account.identifier } as const;
  if (happening.alarm) await raiseAlarm(context, { ...alarm, note: happening.alarm }, tx);
  else if (isSettled && status !== "Failed") await resolveAlarm(context, alarm, tx);
  return { ...account, ...updated };
}
