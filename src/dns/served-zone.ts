/** What name servers serve of a zone: a pure function of rows. */
import type { RecordType } from "#dns/forms.ts";
import { apex, originOf, parseName } from "#dns/names.ts";
import type { RecordSet } from "#dns/records.ts";
import { ZoneTree } from "#dns/tree.ts";

/** A set of a served zone. Its records are canonical text. */
export interface ServedSet {
  owner: string;
  type: RecordType | "SOA";
  ttl: number;
  records: string[];
}

/** One version of a zone. */
export interface ServedZone {
  /** Canonical, without the last dot. */
  name: string;
  serial: number;
  /** SOA and the zone's own NS set come first. */
  sets: ServedSet[];
}

const apexTtlSeconds = 3_600;
const refreshSeconds = 3_600;
const retrySeconds = 600;
const expireSeconds = 2_419_200;
/** How long resolvers keep that something is not there (RFC 2308 §5). */
export const negativeTtlSeconds = 300;

/**
 * The text of the SOA record.
 * @param nameServers names, with or without the last dot; the first is the primary
 * @param hostmaster as a name: hostmaster.example.net
 */
export function soaRecord(nameServers: readonly string[], hostmaster: string, serial: number): string {
  const names = [nameServers[0] ?? "", hostmaster].map((name) => parseName(name));
  return [...names, serial, refreshSeconds, retrySeconds, expireSeconds, negativeTtlSeconds].join(" ");
}

/** The managed sets that no set of the user shadows: a managed set never takes the place of what the user has written. */
export function unshadowedSets(sets: readonly RecordSet[], managed: readonly RecordSet[]): RecordSet[] {
  const tree = new ZoneTree(sets);
  return managed.filter(({ owner }) => {
    const { kind, node } = tree.find(owner);
    const isShadowed = kind === "cut" || ["A", "AAAA", "CNAME"].some((type) => node?.sets.has(type));
    return !isShadowed;
  });
}

/**
 * @param rows `sets` are the user's, `managed` those of hosting; `nameServers` and `hostmaster` are names
 */
export function servedZone(rows: {
  name: string;
  serial: number;
  sets: readonly RecordSet[];
  managed: readonly RecordSet[];
  nameServers: readonly string[];
  hostmaster: string;
}): ServedZone {
  originOf(rows.name);
  const { name, serial, nameServers, hostmaster } = rows;
  const soa: ServedSet = {
    owner: apex,
    type: "SOA",
    ttl: apexTtlSeconds,
    records: [soaRecord(nameServers, hostmaster, serial)],
  };
  const servers = nameServers.map((server) => parseName(server));
  const ns: ServedSet = { owner: apex, type: "NS", ttl: apexTtlSeconds, records: servers };
  return { name, serial, sets: [soa, ns, ...rows.sets, ...unshadowedSets(rows.sets, rows.managed)] };
}
