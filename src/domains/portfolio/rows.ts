/**
 * The SQL by which names enter the portfolio (`domains`) and leave it. A new column of `domains` is filled here, and kept here in
 * `domains_ended` if its last value matters. Between the two, src/domains/schedule/renewals.ts updates the dates and `renewal_id`,
 * switch.ts there updates `will_renew`, looks.ts updates what looks show of names that may leave, and present.ts lists what
 * resellers see.
 */

/** Why a name left: resellers see it. */
export const departureReasons = ["transferred", "deleted", "expired"] as const;
export type DepartureReason = (typeof departureReasons)[number];

/** How a name left the portfolio. */
export interface Departure {
  reason: DepartureReason;
  /** The id of the registrar that has the name now, if the registry has said it. */
  gainingRegistrar?: string | undefined;
  /** Until when the registry can restore the name (RFC 3915), if it can. */
  restorableUntil?: Date | undefined;
}

/** SQL: inserts registered names. @param source SQL: rows of orders whose names are registered */
export const enterPortfolio = (source: string) => `
  INSERT INTO domains (domain_name, reseller_id, order_id, registry_id, registration_date, expiration_date,
    registry_ex_date, will_renew, status, statuses, delegation, handles)
  SELECT domain_name, reseller_id, id, registry_id, registered_at, expires_at, expires_at, will_renew, domain_status,
    ARRAY[domain_status], delegation, handles
  FROM ${source}`;

/**
 * SQL: two CTEs that bring restored names back to the portfolio that they left last. What `<info>` shows counts, except for the
 * reseller's own setting.
 * @param source SQL: rows of domain_name, reseller_id, at, registered_at, expires_at and shown, a ShownDomain as jsonb
 */
export const returnToPortfolio = (source: string): [returned: string, settled: string] => [
  `returned AS (
     INSERT INTO domains (domain_name, reseller_id, order_id, registry_id, registration_date, expiration_date,
       registry_ex_date, will_renew, status, statuses, delegation, handles, dnssec, shown_at)
     SELECT departure.domain_name, departure.reseller_id, departure.order_id, departure.registry_id, back.registered_at,
       back.expires_at, back.expires_at, departure.will_renew, coalesce(shown -> 'statuses' ->> 0, 'ok'),
       ARRAY(SELECT jsonb_array_elements_text(shown -> 'statuses')), shown -> 'name_servers', shown -> 'handles',
       nullif(shown -> 'dnssec', 'null'), back.at
     FROM ${source} AS back CROSS JOIN LATERAL (
       SELECT domain_name, reseller_id, order_id, registry_id, will_renew FROM domains_ended AS ended
       WHERE ended.domain_name = back.domain_name AND ended.reseller_id = back.reseller_id ORDER BY id DESC LIMIT 1) AS departure
     ON CONFLICT (domain_name) DO NOTHING RETURNING domain_name)`,
  `settled AS (
     UPDATE domains_ended AS departure SET restorable_until = NULL FROM returned
     WHERE departure.domain_name = returned.domain_name AND departure.restorable_until IS NOT NULL)`,
];

/**
 * SQL: inserts a name that the registry holds for us and that nobody has, unless an order about it is open. Its parameters are name,
 * reseller_id, registry_id, registered_at, expires_at, registry_ex_date, shown (a ShownDomain) and now.
 */
export const adoptIntoPortfolio = `
  INSERT INTO domains (domain_name, reseller_id, registry_id, registration_date, expiration_date, registry_ex_date,
    will_renew, status, statuses, delegation, handles, dnssec, shown_at)
  SELECT $name::text, $reseller_id::int8, $registry_id::text, $registered_at::timestamptz, $expires_at::timestamptz,
    $registry_ex_date::timestamptz, true, coalesce(given.shown -> 'statuses' ->> 0, 'ok'),
    ARRAY(SELECT jsonb_array_elements_text(given.shown -> 'statuses')), given.shown -> 'name_servers',
    given.shown -> 'handles', nullif(given.shown -> 'dnssec', 'null'), $now::timestamptz
  FROM (SELECT $shown::jsonb AS shown) AS given
  WHERE NOT EXISTS (SELECT FROM orders WHERE domain_name = $name AND ended_at IS NULL)
  ON CONFLICT (domain_name) DO NOTHING
  RETURNING domain_name, reseller_id`;

const keptWhenEnded = `domain_name, reseller_id, order_id, renewal_id, registry_id, registration_date, expiration_date,
    registry_ex_date, will_renew, handles`;

/**
 * SQL: two CTEs that move names to `domains_ended`.
 * @param source SQL: rows of domain_name, at, left_as, gaining_registrar and restorable_until
 */
export const leavePortfolio = (source: string): [gone: string, ended: string] => [
  `gone AS (
     DELETE FROM domains USING ${source} AS leaving WHERE domains.domain_name = leaving.domain_name
     RETURNING ${keptWhenEnded.replaceAll(/\w+/g, "domains.$&")}, leaving.at, leaving.left_as,
       leaving.gaining_registrar, leaving.restorable_until)`,
  `ended AS (
     INSERT INTO domains_ended (${keptWhenEnded}, ended_at, reason, gaining_registrar, restorable_until)
     SELECT ${keptWhenEnded}, at, left_as, gaining_registrar, restorable_until FROM gone)`,
];
