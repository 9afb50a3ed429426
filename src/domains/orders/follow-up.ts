/** Orders about a name that follow from another change, and are placed together with it. */
/**
 * SQL: two CTEs that place orders and their histories. The statement must wake their machine, too.
 * @param name of the first CTE, which returns domain_name and registry_id
 * @param source SQL: rows of code, reseller_id, domain_name, registry_id, kind, input, at and due_at; of the schedule's, also renewal_id
 * @param note SQL: why they were placed, for their histories
 */
export const placeFollowUps = (
  name: string,
  source: string,
  { note = "NULL", isSchedules = false }: { note?: string; isSchedules?: boolean } = {},
): [placed: string, history: string] => [
  `${name} AS (
     INSERT INTO changes (change_code, reseller_id, domain_name, registry_id, kind, input, is_urgent, status, next_step_at,
       created_at, updated_at, renewal_id)
     SELECT code, reseller_id, domain_name, registry_id, kind, input, ${isSchedules}, 'NotProvisioned', due_at, at, at,
       ${isSchedules ? "renewal_id" : "NULL"} FROM ${source}
     ${isSchedules ? "ON CONFLICT DO NOTHING" : ""} RETURNING id, domain_name, registry_id, created_at)`,
  `${name}_history AS (
     INSERT INTO change_history (change_id, at, event, status, note)
     SELECT id, created_at, 'requested', 'NotProvisioned', ${note}::text FROM ${name})`,
];
