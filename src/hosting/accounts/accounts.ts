/**
 * Hosting accounts in the database. A row says what the account must be; its next step (advance.ts) brings the node to it.
 * `wanted_version` counts the requested changes, and `applied_version` says which of them the node has applied.
 */
import { raiseAlarm, resolveAlarm } from "#alarms.ts";
import type { Context } from "#context.ts";
import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import {
  type HostingEvent,
  hostingStatuses,
  nextHostingStatus,
  type RequestedChange,
  statusesFor,
} from "#hosting/accounts/states.ts";
import type { HostingNodes } from "#hosting/drivers/open.ts";
import { releaseRoomOf } from "#hosting/nodes/place.ts";
import { backoffMs } from "#lib/backoff.ts";
import type { DesiredAccount, HostingNode } from "#nodes/driver.ts";

/** The context that an account's password hash is sealed for: it opens in no other row. */
export const passwordHashRow = (identifier: string) => `hosting_accounts.password_hash/${identifier}`;

/** SQL, about a row `account`: the host names at which its site must be served. */
export const provenHostNames = `ARRAY (
  SELECT host_name FROM host_names WHERE account_id = account.id AND host_names.status = 'Proven' ORDER BY host_name)`;

/** SQL, about an `account` and its `pack`: its owner can log in. Without a password, login is impossible until one is set. */
export const ftpIsOpen = `('ftp' = ANY (pack.features) AND NOT account.ftp_is_off AND account.password_hash_sealed <> '')`;

/** SQL: the reseller, the operator or both want the account suspended. */
export const isToBeSuspended = "(suspended_at IS NOT NULL OR reseller_suspended_at IS NOT NULL)";

const accountById = statement(
  "hosting-account-by-id",
  `SELECT account.id, identifier, reseller_id, uid, password_hash_sealed, account.disk_quota_bytes, account.files_max,
     account.ftp_sessions_max, ${ftpIsOpen} AS ftp_is_open, is_frozen, pack.node_tags, status, node_id,
     backoff_count, error_text, account.created_at, must_check_uid, wanted_version, applied_version, wanted_at,
     ${isToBeSuspended} AS is_to_be_suspended, removal_requested_at, account.version, ${provenHostNames} AS host_names
   FROM hosting_accounts AS account JOIN service_packs AS pack
     ON pack.id = servicepack_id AND pack.version = servicepack_version
   WHERE account.id = $id`,
  {
    id: "int8",
    identifier: "text",
    reseller_id: "int8",
    uid: "int8",
    password_hash_sealed: "bytea",
    disk_quota_bytes: "int8",
    files_max: "int4",
    ftp_sessions_max: "int4",
    ftp_is_open: "bool",
    is_frozen: "bool",
    node_tags: "text[]",
    status: hostingStatuses,
    node_id: "text?",
    backoff_count: "int4",
    error_text: "text?",
    created_at: "timestamptz",
    must_check_uid: "bool",
    wanted_version: "int8",
    applied_version: "int8",
    wanted_at: "timestamptz",
    is_to_be_suspended: "bool",
    removal_requested_at: "timestamptz?",
    version: "int8",
    host_names: "text[]",
  },
);

export type Account = NonNullable<(typeof accountById)["row"]>;

export async function findAccount(
  database: Pick<Transaction, "query">,
  accountId: number,
): Promise<Account | undefined> {
  const [account] = await database.query(accountById, { id: accountId });
  return account;
}

/** What an account's node must have. @throws UnreadableSecret without its master key */
export function desiredAccount({ sealer }: Pick<Context, "sealer">, account: Account): DesiredAccount {
  const { identifier, password_hash_sealed: sealed } = account;
  return {
    identifier,
    uid: account.uid,
    passwordHash: sealed.length === 0 ? undefined : sealer.open(passwordHashRow(identifier), sealed),
    diskBytesMax: account.disk_quota_bytes,
    filesMax: account.files_max,
    sessionsMax: account.ftp_sessions_max,
    // While a move copies the last files, none may be added.
    ftpEnabled: account.ftp_is_open && !account.is_frozen,
    suspended: account.is_to_be_suspended,
    hostNames: account.host_names,
  };
}

// `wanted_at` stays at the oldest change that is not applied yet. A change does not wait for the backoff of an earlier one.
// After a removal was requested, nothing else can be.
const countChange = statement(
  "hosting-account-request-change",
  `UPDATE hosting_accounts SET wanted_version = wanted_version + 1, updated_at = $now, next_step_at = $now, backoff_count = 0,
     wanted_at = CASE WHEN applied_version < wanted_version THEN wanted_at ELSE $now END
   WHERE id = $id AND status = ANY ($statuses::text[]) AND removal_requested_at IS NULL RETURNING identifier, status`,
  { identifier: "text", status: hostingStatuses },
);

// A retry that fails for the same reason is counted on the same line.
const insertHistory = statement(
  "hosting-history-insert",
  `WITH last AS (SELECT id, event, note FROM hosting_history WHERE account_id = $account_id ORDER BY id DESC LIMIT 1),
   repeated AS (
     UPDATE hosting_history AS line SET last_at = $at, count = line.count + 1 FROM last
     WHERE line.id = last.id AND $event = 'doubtful' AND last.event = $event AND last.note IS NOT DISTINCT FROM $note
     RETURNING line.id),
   written AS (
     INSERT INTO hosting_history (account_id, at, event, status, note)
     SELECT $account_id, $at, $event, $status, $note WHERE NOT EXISTS (SELECT FROM repeated))
   SELECT notify_after_commit('account_changed', $identifier)::text AS notified`,
  { notified: "text" },
);

/**
 * Counts a requested change and makes the account due. The caller then updates the row's other columns in the same
 * transaction, under the row lock that this takes.
 * @param note for operators; never a secret
 * @returns false, with nothing written, when the account's status does not allow the change or it is being removed
 */
export async function requestChange(
  { clock }: Pick<Context, "clock">,
  tx: Pick<Transaction, "query">,
  accountId: number,
  change: RequestedChange,
  note: string | null = null,
): Promise<boolean> {
  const now = clock.now();
  const [account] = await tx.query(countChange, { id: accountId, statuses: statusesFor(change), now });
  if (!account) return false;
  await tx.query(insertHistory, { account_id: accountId, at: now, event: change, note, ...account });
  return true;
}

const makeDue = statement(
  "hosting-account-make-due",
  `UPDATE hosting_accounts SET next_step_at = $now WHERE id = $id AND status NOT IN ('Failed', 'Removed')`,
  {},
);

/** Makes the account due now. If a step is running, another one follows it. */
export async function makeAccountDue(
  { clock }: Pick<Context, "clock">,
  tx: Pick<Transaction, "query">,
  accountId: number,
): Promise<void> {
  await tx.query(makeDue, { id: accountId, now: clock.now() });
}

const clearDue = statement(
  "hosting-account-clear-due",
  "UPDATE hosting_accounts SET next_step_at = NULL WHERE id = $id AND version = $version",
  {},
);

/** The account has nothing left to do, unless it has changed since it was read. */
export async function clearNextStep(
  { database }: Pick<Context, "database">,
  { id, version }: Pick<Account, "id" | "version">,
): Promise<void> {
  await database.query(clearDue, { id, version });
}

// An ended account needs no password. When an account has just been placed, no node knows its uid.
const updateAccount = statement(
  "hosting-account-update",
  `UPDATE hosting_accounts SET status = $status, node_id = coalesce($node_id, node_id), updated_at = $now,
     next_step_at = $next_step_at, backoff_count = $backoff_count, error_text = coalesce($error_text, error_text),
     operator_note = $note,
     ready_at = CASE WHEN $status = 'Ready' THEN coalesce(ready_at, $now::timestamptz) ELSE ready_at END,
     applied_version = CASE WHEN $is_settled THEN wanted_version ELSE applied_version END,
     must_check_uid = must_check_uid OR $node_id IS NOT NULL,
     password_hash_sealed = CASE WHEN $status IN ('Failed', 'Removed') THEN '' ELSE password_hash_sealed END
   WHERE id = $id AND version = $version
   RETURNING status, node_id, backoff_count, error_text, applied_version, must_check_uid, version`,
  {
    status: hostingStatuses,
    node_id: "text?",
    backoff_count: "int4",
    error_text: "text?",
    applied_version: "int8",
    must_check_uid: "bool",
    version: "int8",
  },
);

export interface AccountEvent {
  event: HostingEvent;
  nodeId?: string;
  /** With `doubtful`: when to retry. */
  nextStepAt?: Date;
  /** For operators: stored in the history and, until the next event, on the account. */
  note?: string;
  /** For the owner of an account that is given up; never cleared. */
  errorText?: string;
  /** Action required: an alarm until the account is settled. */
  alarm?: string;
}

/** After these events the account is what its row says. */
const settling: readonly HostingEvent[] = ["probed", "refused", "applied", "suspended", "resumed", "removed"];

/** Whether accounts in this status have room committed on their node. */
const holdsRoom = (status: string) => ["Provisioning", "Ready", "Suspended"].includes(status);

/** Writes status, history, alarm and next step. @returns nothing when the account has changed since it was read */
export async function applyAccountEvent(
  context: Pick<Context, "database" | "clock" | "log">,
  tx: Transaction,
  account: Account,
  { event, nodeId, nextStepAt, note, errorText, alarm }: AccountEvent,
): Promise<Account | undefined> {
  const status = nextHostingStatus(account.status, event)?.to;
  if (!status) throw new Error(`a hosting account in ${account.status} has no transition for ${event}`);
  const { id, version, identifier } = account;
  const now = context.clock.now();
  const isSettled = settling.includes(event);
  const [updated] = await tx.query(updateAccount, {
    id,
    version,
    status,
    node_id: nodeId ?? null,
    now,
    next_step_at: nextStepAt ?? (isSettled ? null : now),
    backoff_count: nextStepAt ? account.backoff_count + 1 : 0,
    error_text: errorText ?? null,
    note: note ?? null,
    is_settled: isSettled,
  });
  if (!updated) return undefined;
  if (holdsRoom(account.status) && !holdsRoom(status)) await releaseRoomOf(tx, account);
  await tx.query(insertHistory, { account_id: id, at: now, event, status, note: note ?? null, identifier });
  const subject = { kind: "hosting", subject: identifier } as const;
  if (alarm) await raiseAlarm(context, { ...subject, note: alarm }, tx);
  else if (isSettled && status !== "Failed") await resolveAlarm(context, subject, tx);
  return { ...account, ...updated };
}

/** `applyAccountEvent` in a separate transaction. */
export function recordEvent(context: Context, account: Account, event: AccountEvent): Promise<Account | undefined> {
  return context.database.transaction((tx) => applyAccountEvent(context, tx, account, event));
}

const backoff = { firstMs: 1_000, maxMs: 5 * 60_000 };
/** SQL: the longest wait of an account for its next attempt. */
export const longestAccountWait = `interval '${backoff.maxMs} ms'`;
/** A change that has been pending for longer requires action. */
export const alarmAfterMs = 10 * 60_000;

/**
 * Records a failed attempt and when to retry.
 * @param isAlarming raises the alarm at once; otherwise only a change that has been pending for ten minutes does
 */
export async function retryLater(context: Context, account: Account, note: string, isAlarming = false): Promise<void> {
  const nowMs = context.clock.now().getTime();
  const delayMs = backoffMs(account.backoff_count + 1, backoff, context.random);
  const isPending = account.applied_version < account.wanted_version;
  const needsPerson = isAlarming || (isPending && nowMs - account.wanted_at.getTime() > alarmAfterMs);
  const nextStepAt = new Date(nowMs + delayMs);
  const alarm = needsPerson && { alarm: `still not ${pendingState(account)}: ${note}` };
  await recordEvent(context, account, { event: "doubtful", note, nextStepAt, ...alarm });
}

function pendingState(account: Account): string {
  if (account.removal_requested_at) return "removed";
  if (account.status === "Provisioning") return "ready";
  const isSuspended = account.status === "Suspended";
  if (isSuspended === account.is_to_be_suspended) return "changed";
  return isSuspended ? "resumed" : "suspended";
}

/** @returns the driver of the account's node; nothing, after scheduling a retry, when this process does not know the node */
export async function findNodeOrRetry(
  context: Context,
  nodes: HostingNodes,
  account: Account,
): Promise<HostingNode | undefined> {
  const node = await nodes.find(account.node_id ?? "");
  if (!node) await retryLater(context, account, `the hosting node ${account.node_id} cannot be reached from here`);
  return node;
}
