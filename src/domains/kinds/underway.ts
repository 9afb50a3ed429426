/** What is in progress about a name that costs money or ends it. */
import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import { ApiError } from "#errors.ts";

const underWay = statement(
  "paid-under-way",
  `SELECT order_code AS code, kind, (input ->> 'years')::int4 AS years, renewal_id IS NOT NULL AS is_scheduled,
     CASE WHEN operator_note IS NOT NULL AND NOT EXISTS (SELECT FROM attempts WHERE attempts.order_id = orders.id)
       THEN renewal_id END AS gives_way
   FROM orders
   WHERE domain_name = $name AND ended_at IS NULL AND kind IN ('renew', 'delete', 'restore')`,
  {
    code: "text",
    kind: ["renew", "delete", "restore"],
    years: "int4?",
    is_scheduled: "bool",
    /** The term, if its order needs an operator and has sent nothing: what somebody asks for takes its place. */
    gives_way: "int8?",
  },
);

/** @param name locked, so that nothing begins meanwhile */
export function findUnderWay(tx: Transaction, name: string) {
  return tx.query(underWay, { name });
}

/** It is decided within seconds, unless the registry takes longer. */
const underWayRetrySeconds = 60;

export function renewalUnderWay(text?: string): ApiError {
  const headers = { "retry-after": String(underWayRetrySeconds) };
  return new ApiError("domain_renewal_underway", { headers, ...(text !== undefined && { text }) });
}
