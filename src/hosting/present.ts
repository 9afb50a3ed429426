import type { Answer } from "#api/use-case.ts";
import type { Context } from "#context.ts";
import { checkAfter } from "#domains/estimate.ts";

/**
 * SQL: what accounts are read from: beside each the place where it is found. Until a node is chosen it is not anywhere;
 * with one node it can only come to be there. Counting leaves the join out, since it can neither add nor take a row.
 */
export const accountsWithPlaces = `hosting_accounts LEFT JOIN
     (SELECT id AS place_id, ftp_host, ftp_port, web_port, web_is_https FROM hosting_nodes) AS place
     ON place_id = coalesce(node_id, (SELECT min(id) FROM hosting_nodes HAVING count(*) = 1))`;

/** What every read of hosting accounts selects, so that they have one public form. */
export const accountColumns = {
  identifier: "text",
  servicepack_id: "int8",
  status: "text",
  created_at: "timestamptz",
  ftp_host: "text?",
  ftp_port: "int4?",
  web_port: "int4?",
  web_is_https: "bool?",
  disk_quota_bytes: "int8",
  disk_used_bytes: "int8",
  error_text: "text?",
} as const;

export interface AccountRow {
  identifier: string | null;
  servicepack_id: number | null;
  status: string | null;
  created_at: Date | null;
  ftp_host: string | null;
  ftp_port: number | null;
  web_port: number | null;
  web_is_https: boolean | null;
  disk_quota_bytes: number | null;
  disk_used_bytes: number | null;
  error_text: string | null;
}

/** The public form of a hosting account. */
export function presentAccount(context: Context, row: AccountRow) {
  const [scheme, usualPort] = row.web_is_https ? ["https", 443] : ["http", 80];
  const port = row.web_port === null || row.web_port === usualPort ? "" : `:${row.web_port}`;
  return {
    identifier: row.identifier,
    servicepack_id: String(row.servicepack_id),
    status: row.status,
    created_at: row.created_at?.toISOString(),
    ftp: { ...(row.ftp_host !== null && { host: row.ftp_host, port: row.ftp_port }), username: row.identifier },
    web: { url: `${scheme}://${row.identifier}.${context.siteDomain}${port}/` },
    disk_quota_bytes: row.disk_quota_bytes,
    disk_used_bytes: row.disk_used_bytes,
    ...(row.status === "Failed" && { error_text: row.error_text ?? "The account could not be created." }),
  };
}

/**
 * SQL: how long a creation usually takes, in seconds: the median of the last 100; 10 s until there are 20 of them.
 */
export const medianSeconds = `
  (SELECT CASE WHEN count(*) < 20 THEN 10 ELSE ceil(percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds)) END
   FROM (SELECT extract(epoch FROM ready_at - created_at) AS seconds FROM hosting_accounts AS sample
         WHERE sample.ready_at IS NOT NULL ORDER BY sample.ready_at DESC LIMIT 100) AS recent)::int4`;

export function accepted(prefix: string, identifier: string, medianSeconds: number): Answer {
  return {
    status: 202,
    headers: { location: `${prefix}/hostingaccounts/${identifier}`, "check-after": checkAfter(medianSeconds) },
  };
}
