/**
 * `auth_codes` has a row for each name whose authInfo somebody may know: from the end of the order that set it until the end of
 * the one that replaced it. It goes with the name's row when the name leaves the portfolio.
 */

/** What an order of the kind `auth-code` asks for: a code to read, or the end of an earlier one. */
export type AuthCodeInput = { readable_hours: number } | { replaces: string };

/**
 * SQL: CTEs that the end of an order writes, from `written`, which has its secret as it was before the statement.
 * The code stays sealed as the order's secret.
 */
export const authCodeEffects = [
  `codes_set AS (
     INSERT INTO auth_codes (domain_name, registry_id, order_code, code_sealed, expires_at, replace_at)
     SELECT domain.domain_name, ended.registry_id, ended.code, ended.secret_sealed, until.at, until.at
     FROM written AS ended
       JOIN names AS domain ON domain.domain_name = ended.domain_name AND domain.reseller_id = ended.reseller_id,
       LATERAL (SELECT ended.at + make_interval(hours => (ended.input ->> 'readable_hours')::int4) AS at) AS until
     WHERE ended.status = 'Finished' AND ended.kind = 'auth-code' AND ended.secret_sealed IS NOT NULL
     ON CONFLICT (domain_name) DO UPDATE SET order_code = excluded.order_code, code_sealed = excluded.code_sealed,
       expires_at = excluded.expires_at, replace_at = excluded.replace_at)`,
  `codes_replaced AS (
     DELETE FROM auth_codes AS code USING written AS ended
     WHERE ended.status = 'Finished' AND ended.kind = 'auth-code' AND code.domain_name = ended.domain_name
       AND code.order_code = ended.input ->> 'replaces')`,
  // The next look sees another code.
  `codes_unseen AS (
     DELETE FROM seen_auth_codes AS seen USING written AS ended
     WHERE ended.is_over AND ended.kind = 'auth-code' AND seen.domain_name = ended.domain_name)`,
];
