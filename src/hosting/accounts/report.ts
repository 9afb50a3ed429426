/** Reports on hosting accounts for operators. */
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { ftpIsOpen } from "#hosting/accounts/accounts.ts";
import { parseIdentifier } from "#hosting/accounts/find-account.ts";
import { hasChangesPending } from "#hosting/accounts/present.ts";
import { type HostingStatus, hostingStatuses } from "#hosting/accounts/states.ts";
import { nextInWords } from "#hosting/accounts/timeline.ts";
import { OperatorError } from "#operator-error.ts";

const accounts = statement(
  "operator-hosting-accounts",
  `SELECT identifier, reseller.name AS reseller, servicepack_id, status, node_id AS node,
     ${hasChangesPending} AS changes_pending, disk_used_bytes, disk_quota_bytes, account.created_at, alarms.since AS alarm_since
   FROM hosting_accounts AS account JOIN resellers AS reseller ON reseller.id = reseller_id
     LEFT JOIN alarms ON alarms.kind = 'hosting' AND alarms.subject = identifier AND resolved_at IS NULL
       AND status <> 'Removed'
   WHERE CASE WHEN $status::text IS NULL THEN status <> 'Removed' ELSE status = $status END
     AND ($reseller_id::int8 IS NULL OR reseller_id = $reseller_id) AND ($node_id::text IS NULL OR node_id = $node_id)
     AND (NOT $is_pending OR ${hasChangesPending}) ORDER BY account.id DESC LIMIT $rows_max`,
  {
    identifier: "text",
    reseller: "text",
    servicepack_id: "int8",
    status: hostingStatuses,
    node: "text?",
    changes_pending: "bool",
    disk_used_bytes: "int8",
    disk_quota_bytes: "int8",
    created_at: "timestamptz",
    alarm_since: "timestamptz?",
  },
);

const newestAccount = statement(
  "operator-hosting-account",
  `SELECT account.id, identifier, reseller.name AS reseller, servicepack_id, servicepack_version, pack.name AS servicepack,
     status, node_id, uid, account.disk_quota_bytes, disk_used_bytes, account.files_max, files_used, traffic_bytes_month,
     (SELECT sum(bytes)::int8 FROM hosting_traffic WHERE account_id = account.id
        AND month = to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM')) AS traffic_used_bytes,
     ARRAY(SELECT host_name FROM host_names WHERE account_id = account.id ORDER BY 1) AS host_names,
     account.created_at, ready_at, suspended_at, suspended_reason, reseller_suspended_at, reseller_suspended_reason,
     removal_requested_at, error_text,
     ${ftpIsOpen} AS ftp_enabled, ${hasChangesPending} AS changes_pending, wanted_at, backoff_count AS failed_tries,
     CASE WHEN backoff_count > 0 THEN next_step_at END AS next_step_at, operator_note, alarms.note AS alarm
   FROM hosting_accounts AS account JOIN resellers AS reseller ON reseller.id = reseller_id
     JOIN service_packs AS pack ON pack.id = servicepack_id AND pack.version = servicepack_version
     LEFT JOIN alarms ON alarms.kind = 'hosting' AND alarms.subject = identifier AND resolved_at IS NULL
       AND status <> 'Removed'
   WHERE identifier = $identifier ORDER BY (status IN ('Failed', 'Removed')), account.id DESC LIMIT 1`,
  {
    id: "int8",
    identifier: "text",
    reseller: "text",
    servicepack_id: "int8",
    servicepack_version: "int4",
    servicepack: "text",
    status: hostingStatuses,
    node_id: "text?",
    uid: "int8",
    disk_quota_bytes: "int8",
    disk_used_bytes: "int8",
    files_max: "int4",
    files_used: "int4",
    traffic_bytes_month: "int8",
    traffic_used_bytes: "int8?",
    host_names: "text[]",
    ftp_enabled: "bool",
    created_at: "timestamptz",
    ready_at: "timestamptz?",
    suspended_at: "timestamptz?",
    suspended_reason: "text?",
    reseller_suspended_at: "timestamptz?",
    reseller_suspended_reason: "text?",
    removal_requested_at: "timestamptz?",
    error_text: "text?",
    changes_pending: "bool",
    wanted_at: "timestamptz",
    failed_tries: "int4",
    next_step_at: "timestamptz?",
    operator_note: "text?",
    alarm: "text?",
  },
);

const accountHistory = statement(
  "operator-hosting-history",
  "SELECT at, last_at, count, event, status, note FROM hosting_history WHERE account_id = $account_id ORDER BY id",
  { at: "timestamptz", last_at: "timestamptz?", count: "int4", event: "text", status: hostingStatuses, note: "text?" },
);

export interface AccountFilter {
  /** If undefined, all but removed accounts. */
  status?: HostingStatus | undefined;
  resellerId?: number | undefined;
  nodeId?: string | undefined;
  /** Only accounts with a pending change. */
  isPending: boolean;
  limit: number;
}

/** Newest first. */
export async function reportAccounts({ database }: Pick<Context, "database">, filter: AccountFilter) {
  const { status = null, resellerId = null, nodeId = null, isPending, limit } = filter;
  const values = { status, reseller_id: resellerId, node_id: nodeId, is_pending: isPending, rows_max: limit };
  return database.query(accounts, values);
}

/**
 * The live account of an identifier, or else the last one, with its history and what happens next.
 * @throws OperatorError when there never was one
 */
export async function reportAccount({ database }: Pick<Context, "database">, text: string) {
  const identifier = parseIdentifier(text);
  const [account] = await database.query(newestAccount, { identifier });
  if (!account) throw new OperatorError("not-found", `there is, and was, no hosting account ${identifier}`);
  const { id, operator_note, wanted_at, ...shown } = account;
  return {
    ...shown,
    ...(account.changes_pending && { pending_since: wanted_at, waits_because: operator_note }),
    next: nextInWords(account, operator_note ?? "the last attempt failed"),
    history: await database.query(accountHistory, { account_id: id }),
  };
}

const progress = statement(
  "operator-hosting-progress",
  `SELECT status, ${hasChangesPending} AS changes_pending, reseller_suspended_at FROM hosting_accounts WHERE id = $id`,
  { status: hostingStatuses, changes_pending: "bool", reseller_suspended_at: "timestamptz?" },
);

/** An account's status, whether a change is pending, and since when its reseller has suspended it. */
export async function findProgress({ database }: Pick<Context, "database">, accountId: number) {
  const [account] = await database.query(progress, { id: accountId });
  if (!account) throw new Error("the account's row is gone");
  return account;
}
