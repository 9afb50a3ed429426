/**
 * The SQL by which names enter the portfolio (`domains`) and leave it. A new column of `domains` is filled here, and kept here in
 * `domains_ended` if its last value matters. Between the two, src/domains/renewals/renewals.ts updates the dates and `renewal_id`,
 * switch.ts there updates `will_renew`, and present.ts lists what resellers see.
 */

/** SQL: inserts registered names. @param source SQL: rows of orders whose names are registered */
export const enterPortfolio = (source: string) => `
  INSERT INTO domains (domain_name, reseller_id, order_id, registry_id, registration_date, expiration_date,
    registry_ex_date, will_renew, status)
  SELECT domain_name, reseller_id, id, registry_id, registered_at, expires_at, expires_at, true, domain_status
  FROM ${source}`;

const keptWhenEnded = `domain_name, reseller_id, order_id, renewal_id, registry_id, registration_date, expiration_date,
    registry_ex_date`;

/** SQL: two CTEs that move names to `domains_ended`. @param source SQL: rows of domain_name, at and ended_for */
export const leavePortfolio = (source: string): [gone: string, ended: string] => [
  `gone AS (
     DELETE FROM domains USING ${source} AS leaving WHERE domains.domain_name = leaving.domain_name
     RETURNING ${keptWhenEnded.replaceAll(/\w+/g, "domains.$&")}, leaving.at, leaving.ended_for)`,
  `ended AS (
     INSERT INTO domains_ended (${keptWhenEnded}, ended_at, reason) SELECT ${keptWhenEnded}, at, ended_for FROM gone)`,
];
