/**
 * The rows of the portfolio, `domains`: how a name enters it and how it leaves. These are the only places that name all of its
 * columns.
 */

/** SQL: enters registered names. @param source SQL: rows of an order that has brought its name */
export const enterPortfolio = (source: string) => `
  INSERT INTO domains (domain_name, reseller_id, order_id, registry_id, registration_date, expiration_date,
    registry_ex_date, will_renew, status)
  SELECT domain_name, reseller_id, id, registry_id, registered_at, expires_at, expires_at, true, domain_status
  FROM ${source}`;

const keptWhenEnded = `domain_name, reseller_id, order_id, renewal_id, registry_id, registration_date, expiration_date,
    registry_ex_date`;

/** SQL: two CTEs that take names out, and keep what they were. @param source SQL: rows of domain_name, at and reason */
export const leavePortfolio = (source: string): [gone: string, ended: string] => [
  `gone AS (
     DELETE FROM domains USING ${source} AS leaving WHERE domains.domain_name = leaving.domain_name
     RETURNING ${keptWhenEnded.replaceAll(/\w+/g, "domains.$&")}, leaving.at, leaving.ended_for)`,
  `ended AS (
     INSERT INTO domains_ended (${keptWhenEnded}, ended_at, reason) SELECT ${keptWhenEnded}, at, ended_for FROM gone)`,
];
