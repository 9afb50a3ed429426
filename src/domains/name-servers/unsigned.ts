/**
 * Zones at our name servers are unsigned. DS records of such a name say the opposite, so resolvers that validate would refuse it
 * (RFC 4035 §5.2).
 */
import type { Context } from "#context.ts";
import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import { ApiError } from "#errors.ts";
import type { SecDns } from "#registry/epp/commands/domain/sec-dns.ts";

// Of several open orders of a kind, the newest decides what the registry will show.
const shownAndOrdered = statement(
  "domain-delegation-and-ds",
  `SELECT delegation, dnssec,
     (SELECT input FROM orders WHERE domain_name = $name AND kind = 'nameservers' AND kind <> 'create' AND ended_at IS NULL
      ORDER BY id DESC LIMIT 1) AS servers_ordered,
     (SELECT input FROM orders WHERE domain_name = $name AND kind = 'dnssec' AND kind <> 'create' AND ended_at IS NULL
      ORDER BY id DESC LIMIT 1) AS records_ordered
   FROM domains WHERE domain_name = $name`,
  { delegation: "jsonb?", dnssec: "jsonb?", servers_ordered: "jsonb?", records_ordered: "jsonb?" },
);

/** @param dnssec what `<info>` showed, or an order asks for: DS records, or keys of which a registry makes them */
export function hasDs(dnssec: unknown): boolean {
  const { dsData = [], keyData = [] } = (dnssec ?? {}) as SecDns;
  return dsData.length + keyData.length > 0;
}

/** Whether hosts are our name servers: one of them is enough, since it would answer without signatures. */
function areOurs({ nameServers }: Context["zones"], hosts: unknown): boolean {
  return ((hosts ?? []) as { name: string }[]).some(({ name }) => nameServers.includes(name.toLowerCase()));
}

/**
 * Refuses to delegate a name with DS records to our name servers.
 * @param domainName its row is locked
 * @throws ApiError `domain_has_ds`
 */
export async function refuseSigned(
  { zones }: Pick<Context, "zones">,
  tx: Transaction,
  domainName: string,
  wanted: readonly { name: string }[],
): Promise<void> {
  if (!areOurs(zones, wanted)) return;
  const [row] = await tx.query(shownAndOrdered, { name: domainName });
  if (hasDs(row?.dnssec) || hasDs(row?.records_ordered)) throw new ApiError("domain_has_ds");
}

/**
 * Refuses DS records for a name at our name servers.
 * @param domainName its row is locked
 * @throws ApiError `zone_unsigned`
 */
export async function refuseUnsigned(
  { zones }: Pick<Context, "zones">,
  tx: Transaction,
  domainName: string,
  wanted: SecDns,
): Promise<void> {
  if (zones.nameServers.length === 0 || !hasDs(wanted)) return;
  const [row] = await tx.query(shownAndOrdered, { name: domainName });
  const { name_servers: ordered } = (row?.servers_ordered ?? {}) as { name_servers?: unknown };
  if (areOurs(zones, row?.delegation) || areOurs(zones, ordered)) throw new ApiError("zone_unsigned");
}
