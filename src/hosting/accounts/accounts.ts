/** Hosting accounts in the database: their rows, and the one way in which their state changes. */
import { raiseAlarm, resolveAlarm } from "#alarms.ts";
import type { Context } from "#context.ts";
import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import { type HostingEvent, hostingStatuses, nextHostingStatus } from "#hosting/accounts/states.ts";
import { provenHostNames } from "#hosting/host-names/host-names.ts";
import { releaseRoomOf } from "#hosting/nodes/place.ts";

/** What an account's password hash is sealed for: it opens in no other row. */
export const passwordHashRow = (identifier: string) => `hosting_accounts.password_hash/${identifier}`;

const accountById = statement(
  "hosting-account-by-id",
  `SELECT account.id, identifier, reseller_id, uid, password_hash_sealed, account.disk_quota_bytes, account.files_max,
     account.ftp_sessions_max, 'ftp' = ANY (pack.features) AS has_ftp, is_frozen, pack.node_tags, status, node_id,
     backoff_count, error_text, account.created_at, must_check_uid, wanted_version, applied_version, wanted_at, suspended_at, removal_requested_at,
     account.version, ${provenHostNames} AS host_names
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
    has_ftp: "bool",
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
    suspended_at: "timestamptz?",
    removal_requested_at: "timestamptz?",
    version: "int8",
    host_names: "text[]",
  },
);

export type Account = NonNullable<(typeof accountById)["row"]>;

// The version says that nobody has changed the account since it was read: another worker that has placed it, called it ready or
// given it up, or whoever wants something else of it now. What is over needs no password any more. No node knows the uid of an
// account that is only just placed.
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

const restAccount = statement(
  "hosting-account-rest",
  "UPDATE hosting_accounts SET next_step_at = NULL WHERE id = $id AND version = $version",
  {},
);

const callAccount = statement(
  "hosting-account-call",
  `UPDATE hosting_accounts SET next_step_at = $now WHERE id = $id AND status NOT IN ('Failed', 'Removed')`,
  {},
);

// The same doubt again is the same line.
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
   SELECT pg_notify('account_changed', $identifier)::text AS notified`,
  { notified: "text" },
);

export async function findAccount(
  database: Pick<Transaction, "query">,
  accountId: number,
): Promise<Account | undefined> {
  const [account] = await database.query(accountById, { id: accountId });
  return account;
}

/** Something that happened to an account, with everything that is written together with it. */
export interface AccountHappening {
  event: HostingEvent;
  nodeId?: string;
  /** With `doubtful`: when it is tried again. */
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

/** Lets an account work at once on what its row says; one that is at work looks again afterwards. */
export async function callAccountNow(
  { clock }: Pick<Context, "clock">,
  tx: Pick<Transaction, "query">,
  accountId: number,
): Promise<void> {
  await tx.query(callAccount, { id: accountId, now: clock.now() });
}

/** The account has nothing left to do, unless it has changed since it was read. */
export async function letAccountRest(
  { database }: Pick<Context, "database">,
  { id, version }: Pick<Account, "id" | "version">,
): Promise<void> {
  await database.query(restAccount, { id, version });
}

/** New state, history and next step in one transaction. Returns nothing when the account has changed since it was read. */
export async function happenToAccount(
  context: Pick<Context, "database" | "clock" | "log">,
  tx: Transaction,
  account: Account,
  happening: AccountHappening,
): Promise<Account | undefined> {
  const { event, nodeId = null, nextStepAt, note = null, errorText = null } = happening;
  const status = nextHostingStatus(account.status, event);
  if (!status) throw new Error(`a hosting account in ${account.status} has no transition for ${event}`);
  const now = context.clock.now();
  const isSettled = settling.includes(event);
  const [updated] = await tx.query(updateAccount, {
    ...{ id: account.id, version: account.version, status, now, note, is_settled: isSettled },
    ...{ node_id: nodeId, error_text: errorText, backoff_count: nextStepAt ? account.backoff_count + 1 : 0 },
    next_step_at: nextStepAt ?? (isSettled ? null : now),
  });
  if (!updated) return undefined;
  if (holdsRoom(account.status) && !holdsRoom(status)) await releaseRoomOf(tx, account);
  const { id: account_id, identifier } = account;
  await tx.query(insertHistory, { account_id, at: now, event, status, note, identifier });
  const alarm = { kind: "hosting", subject: account.identifier } as const;
  if (happening.alarm) await raiseAlarm(context, { ...alarm, note: happening.alarm }, tx);
  else if (isSettled && status !== "Failed") await resolveAlarm(context, alarm, tx);
  return { ...account, ...updated };
}
