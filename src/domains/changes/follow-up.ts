/** Orders about a name that follow from another change, and are placed together with its end. */
/**
 * SQL: two CTEs that place orders and their histories. The statement must wake their machine, too.
 * @param name of the first CTE, which returns domain_name and registry_id
 * @param source SQL: rows of code, reseller_id, domain_name, registry_id, kind, input, at and due_at
 * @param note SQL: why they were placed, for their histories
 */
export const placeFollowUps = (name: string, source: string, note = "NULL"): [placed: string, history: string] => [
  `${name} AS (
     INSERT INTO changes (change_code, reseller_id, domain_name, registry_id, kind, input, is_urgent, status, next_step_at,
       created_at, updated_at)
     SELECT code, reseller_id, domain_name, registry_id, kind, input, false, 'NotProvisioned', due_at, at, at FROM ${source}
     RETURNING id, domain_name, registry_id, created_at)`,
  `${name}_history AS (
     INSERT INTO change_history (change_id, at, event, status, note)
     SELECT id, created_at, 'requested', 'NotProvisioned', ${note}::text FROM ${name})`,
];
