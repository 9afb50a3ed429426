/**
 * What the registry last showed of a name, as its domain's row keeps it: never what was ordered. A step
 * that asks for `<info>` about a name writes this with its outcome.
 */
import type { Glue } from "#domains/name-servers/host-objects.ts";
import { isBelow } from "#domains/name-servers/wanted.ts";
import type { DomainInfo } from "#registry/epp/commands/domain/info.ts";

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
