import type { Answer } from "#api/use-case.ts";
import type { Context } from "#context.ts";
import { checkAfter } from "#domains/estimate.ts";

/** What every read of hosting accounts selects, so that they have one public form. */
export const accountColumns = {
  identifier: "text",
  servicepack_id: "int8",
  status: "text",
  created_at: "timestamptz",
  node_id: "text?",
  disk_quota_bytes: "int8",
  disk_used_bytes: "int8",
  error_text: "text?",
} as const;

export interface AccountRow {
  identifier: string | null;
  servicepack_id: number | null;
  status: string | null;
  created_at: Date | null;
  node_id: string | null;
  disk_quota_bytes: number | null;
  disk_used_bytes: number | null;
  error_text: string | null;
}

/** The public form of a hosting account. */
export function presentAccount(context: Context, row: AccountRow) {
  // Until a node is chosen the account is not anywhere; with one node it can only be there.
  const node = context.nodes.find(({ id }) => id === row.node_id) ?? context.nodes[0];
  const port = node && node.web.port !== 80 ? `:${node.web.port}` : "";
  return {
    identifier: row.identifier,
    servicepack_id: String(row.servicepack_id),
    status: row.status,
    created_at: row.created_at?.toISOString(),
    ftp: { host: node?.ftp.host, port: node?.ftp.port, username: row.identifier },
    web: { url: `http://${row.identifier}.${context.siteDomain}${port}/` },
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
