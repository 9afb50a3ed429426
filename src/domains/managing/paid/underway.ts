/** What is in progress about a name that costs money or ends it: orders, and the renewal of its term. */
import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import { ApiError } from "#errors.ts";

// A renewal that is scheduled, waits for the end of the term, or needs an operator before anything was sent has not begun: an order
// takes its place.
const underWay = statement(
  "paid-under-way",
  `SELECT change_code AS code, kind, (input ->> 'years')::int4 AS years FROM changes
   WHERE domain_name = $name AND ended_at IS NULL AND kind IN ('renew', 'delete', 'restore')
   UNION ALL
   SELECT renewal_code, CASE status WHEN 'Lapsing' THEN 'delete' ELSE 'renew' END, period_years FROM renewals
   WHERE domain_name = $name AND ended_at IS NULL AND status <> 'Scheduled' AND phase IS DISTINCT FROM 'wait'
     AND (status <> 'Attention' OR EXISTS (SELECT FROM attempts WHERE attempts.renewal_id = renewals.id))`,
  { code: "text", kind: ["renew", "delete", "restore"], years: "int4?" },
);

/** @param name locked, so that nothing begins meanwhile */
export function findUnderWay(tx: Transaction, name: string) {
  return tx.query(underWay, { name });
}

/** It is decided within seconds, unless the registry takes longer. */
const underWayRetrySeconds = 60;

export function renewalUnderWay(): ApiError {
  return new ApiError("domain_renewal_underway", { headers: { "retry-after": String(underWayRetrySeconds) } });
}
