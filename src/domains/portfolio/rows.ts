import type { Glue } from "#domains/name-servers/host-objects.ts";
import { isBelow } from "#domains/name-servers/wanted.ts";
import type { DomainInfo } from "#registry/epp/commands/domain/info.ts";

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

/** RFC 5731 §2.3: with this status other registrars cannot request a transfer. */
export const lockedStatus = "clientTransferProhibited";

/** The ids of a name's contacts. */
export interface Handles {
  registrant?: string;
  contacts: DomainInfo["contacts"];
}

/** As JSON in a writer's item. */
export interface ShownDomain {
  statuses: readonly string[];
  name_servers: readonly { name: string; addresses?: readonly string[] }[];
  /** Null at a registry that shows none: a name's contacts are ours alone there. */
  handles: Handles | null;
  dnssec: DomainInfo["secDns"] | null;
  ex_date: string | null;
}

/** @param info of a name that our registrar account holds */
export function shownOf(info: DomainInfo): ShownDomain {
  const { registrant, contacts } = info;
  const hosts = info.nameServers?.hosts ?? [];
  return {
    statuses: info.statuses,
    name_servers: hosts.map(({ name, addresses }) => (addresses.length > 0 ? { name, addresses } : { name })),
    handles: registrant === undefined && contacts.length === 0 ? null : { ...(registrant && { registrant }), contacts },
    dnssec: info.secDns ?? null,
    ex_date: info.exDate?.toISOString() ?? null,
  };
}

/** Adds the addresses that `<info>` about hosts has shown. Those of a host belong to the name above it. */
export function withGlue(shown: ShownDomain, domainName: string, glue: Glue): ShownDomain {
  const servers = shown.name_servers.map((server) => {
    const host = server.name.toLowerCase();
    const addresses = isBelow(host, domainName) ? glue.get(host) : undefined;
    return addresses ? { name: server.name, addresses } : server;
  });
  return { ...shown, name_servers: servers };
}

// Where hosts are objects, `<info>` about a name does not show their addresses: those that were last seen stay.
const withKnownGlue = (servers: string) => `
    (SELECT coalesce(jsonb_agg(CASE WHEN server ? 'addresses' THEN server ELSE coalesce(
       (SELECT known FROM jsonb_array_elements(domain.delegation) AS known WHERE known -> 'name' = server -> 'name' LIMIT 1),
       server) END ORDER BY place), '[]')
     FROM jsonb_array_elements(${servers}) WITH ORDINALITY AS shown_server(server, place))`;

/** SQL: assignments to the row `domain` of `domains`. @param shown SQL: a ShownDomain as jsonb, or null @param at SQL: now */
export const takeShown = (shown: string, at: string) => `
  statuses = CASE WHEN ${shown} IS NULL THEN domain.statuses
    ELSE ARRAY(SELECT jsonb_array_elements_text(${shown} -> 'statuses')) END,
  delegation = CASE WHEN ${shown} IS NULL THEN domain.delegation ELSE ${withKnownGlue(`${shown} -> 'name_servers'`)} END,
  handles = coalesce(nullif(${shown} -> 'handles', 'null'), domain.handles),
  dnssec = CASE WHEN ${shown} IS NULL THEN domain.dnssec ELSE nullif(${shown} -> 'dnssec', 'null') END,
  registry_ex_date = coalesce((${shown} ->> 'ex_date')::timestamptz, domain.registry_ex_date),
  shown_at = CASE WHEN ${shown} IS NULL THEN domain.shown_at ELSE ${at} END`;

/**
 * SQL: CTEs that the end of an order writes, from `written`, which has its secret as it was before the statement.
 * `auth_codes` has a row for each name whose authInfo somebody may know: from the end of the order that set it until the end of
 * the one that replaced it. It goes with the name's row when the name leaves the portfolio. The code stays sealed as the order's secret.
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
