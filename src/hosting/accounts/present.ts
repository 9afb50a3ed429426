import Type, { type Static } from "typebox";
import type { Context } from "#context.ts";
import type { RowOf } from "#db/statement.ts";
import { ftpIsOpen, provenHostNames } from "#hosting/accounts/accounts.ts";
import { hostingStatuses } from "#hosting/accounts/states.ts";
import { ftpUsername, nodeKinds } from "#hosting/nodes/nodes.ts";
import { instant, textLike } from "#use-case/docs.ts";

/** SQL: a requested change is not applied yet. An ended account has none. */
export const hasChangesPending = "applied_version < wanted_version AND status NOT IN ('Failed', 'Removed')";

/**
 * SQL: accounts with their address, their pack's limits and the traffic of this month. Before a node is chosen, an account
 * has no address, unless there is only one node. A count of the rows skips the joins: they neither add nor remove rows.
 */
export const shownAccounts = `(
     SELECT account.id, reseller_id, identifier, servicepack_id, servicepack_version, status, account.created_at,
       removal_requested_at, ${hasChangesPending} AS changes_pending, node.kind AS node_kind, ftp_host, ftp_port, web_port,
       web_is_https, account.disk_quota_bytes, disk_used_bytes, account.files_max, files_used, traffic_bytes_month,
       (SELECT sum(bytes)::int8 FROM hosting_traffic WHERE account_id = account.id
          AND month = to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM')) AS traffic_used_bytes,
       CASE WHEN node.kind = 'cpanel' THEN 0 ELSE host_names_max END AS host_names_max, error_text,
       account.suspended_at, reseller_suspended_at, reseller_suspended_reason, pack.name AS servicepack_name,
       ${ftpIsOpen} AS ftp_is_open, web_host, ready_at, account.updated_at,
       ${provenHostNames} AS host_names
     FROM hosting_accounts AS account
       LEFT JOIN service_packs AS pack ON pack.id = servicepack_id AND pack.version = servicepack_version
       LEFT JOIN hosting_nodes AS node
         ON node.id = coalesce(node_id, (SELECT min(id) FROM hosting_nodes HAVING count(*) = 1))
   ) AS shown`;

/** What every read of hosting accounts selects: they share one public form. */
export const accountColumns = {
  id: "int8",
  identifier: "text",
  servicepack_id: "int8",
  servicepack_version: "int4",
  status: hostingStatuses,
  created_at: "timestamptz",
  removal_requested_at: "timestamptz?",
  changes_pending: "bool",
  node_kind: [...nodeKinds, null],
  ftp_host: "text?",
  ftp_port: "int4?",
  web_port: "int4?",
  web_is_https: "bool?",
  disk_quota_bytes: "int8",
  disk_used_bytes: "int8",
  files_max: "int4",
  files_used: "int4",
  traffic_bytes_month: "int8?",
  traffic_used_bytes: "int8?",
  host_names_max: "int4?",
  ftp_is_open: "bool?",
  error_text: "text?",
  suspended_at: "timestamptz?",
  reseller_suspended_at: "timestamptz?",
  reseller_suspended_reason: "text?",
} as const;

/** SQL */
export const accountColumnNames = Object.keys(accountColumns).join(", ");

/** What a read of one account selects. */
export const accountDetails = {
  ...accountColumns,
  servicepack_name: "text?",
  web_host: "text?",
  ready_at: "timestamptz?",
  updated_at: "timestamptz",
  host_names: "text[]",
} as const;

/** An empty page of a list has one row of nulls. */
export type AccountRow = { [Column in keyof typeof accountColumns]: RowOf<typeof accountColumns>[Column] | null };

/** A removed account is not shown. */
export const hostingStatusShape = Type.Enum(["Ready", "Provisioning", "Suspended", "Failed"]);
export type ShownStatus = Static<typeof hostingStatusShape>;

const suspensionShape = Type.Object({
  by: Type.Enum(["reseller", "operator"], {
    description: "You, or the operator. Each lifts only the suspension that they requested.",
  }),
  since: instant,
  reason: Type.Optional(Type.String({ description: "Yours.", examples: ["invoice 4711 is unpaid"] })),
});

const count = (example: number) => Type.Integer({ minimum: 0, examples: [example] });

export const accountShape = Type.Object(
  {
    identifier: textLike("hello.example"),
    servicepack_id: textLike("14490"),
    servicepack_version: Type.Integer({ examples: [1] }),
    status: hostingStatusShape,
    created_at: instant,
    ftp: Type.Object({
      host: Type.Optional(Type.String()),
      port: Type.Optional(Type.Integer()),
      username: textLike("hello.example"),
      enabled: Type.Optional(Type.Literal(false, { description: "Logins are refused." })),
    }),
    web: Type.Object({ url: textLike("http://hello.example.localhost:7480/") }),
    disk_quota_bytes: count(100_000_000),
    disk_used_bytes: count(71_680),
    files_max: count(10_000),
    files_used: count(12),
    traffic_bytes_month: Type.Integer({ minimum: 0, description: "0 means unlimited.", examples: [50_000_000_000] }),
    traffic_used_bytes: Type.Optional(
      Type.Integer({ minimum: 0, description: "This month; missing until it is counted." }),
    ),
    host_names_max: count(10),
    changes_pending: Type.Boolean({ examples: [false] }),
    suspensions: Type.Optional(
      Type.Array(suspensionShape, {
        description: "What was requested, and by whom; missing when it is not suspended.",
      }),
    ),
    removal_requested_at: Type.Optional(instant),
    error_text: Type.Optional(Type.String({ description: "Why it failed." })),
  },
  { title: "HostingAccount" },
);

/** The public form of a hosting account. @param row of an account */
export function presentAccount(context: Context, row: AccountRow): Static<typeof accountShape> {
  const [scheme, usualPort] = row.web_is_https ? ["https", 443] : ["http", 80];
  const port = row.web_port === null || row.web_port === usualPort ? "" : `:${row.web_port}`;
  return {
    identifier: row.identifier!,
    servicepack_id: String(row.servicepack_id),
    servicepack_version: row.servicepack_version!,
    status: row.status as ShownStatus,
    created_at: row.created_at!.toISOString(),
    ftp: {
      ...(row.ftp_host !== null && { host: row.ftp_host, port: row.ftp_port! }),
      username: ftpUsername(row.node_kind, row.identifier ?? "", context.siteDomain),
      ...(row.ftp_is_open === false && row.status !== "Failed" && { enabled: false }),
    },
    web: { url: `${scheme}://${row.identifier}.${context.siteDomain}${port}/` },
    disk_quota_bytes: row.disk_quota_bytes!,
    disk_used_bytes: row.disk_used_bytes!,
    files_max: row.files_max!,
    files_used: row.files_used!,
    traffic_bytes_month: row.traffic_bytes_month!,
    ...(row.traffic_used_bytes !== null && { traffic_used_bytes: row.traffic_used_bytes }),
    host_names_max: row.host_names_max!,
    changes_pending: row.changes_pending!,
    ...presentSuspensions(row),
    ...(row.removal_requested_at !== null && { removal_requested_at: row.removal_requested_at.toISOString() }),
    ...(row.status === "Failed" && { error_text: row.error_text ?? "The account could not be created." }),
  };
}

/** The operator's reason is for operators only: it may be about somebody else. */
function presentSuspensions(row: AccountRow): { suspensions?: Static<typeof suspensionShape>[] } {
  const { suspended_at, reseller_suspended_at: own, reseller_suspended_reason: reason } = row;
  if (suspended_at === null && own === null) return {};
  return {
    suspensions: [
      ...(own === null
        ? []
        : [{ by: "reseller" as const, since: own.toISOString(), ...(reason !== null && { reason }) }]),
      ...(suspended_at === null ? [] : [{ by: "operator" as const, since: suspended_at.toISOString() }]),
    ],
  };
}

/** SQL: the median duration of the last 100 creations in seconds; 10 s if there are fewer than 20. */
export const medianSeconds = `
  (SELECT CASE WHEN count(*) < 20 THEN 10 ELSE ceil(percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds)) END
   FROM (SELECT extract(epoch FROM ready_at - created_at) AS seconds FROM hosting_accounts AS sample
         WHERE sample.ready_at IS NOT NULL ORDER BY sample.ready_at DESC LIMIT 100) AS recent)::int4`;
