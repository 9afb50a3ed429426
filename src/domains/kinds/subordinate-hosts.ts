/**
 * Hosts below a name that is deleted. Those that other names use get a name below the profile's sacrificial suffix (RFC 5732 §3.2.5),
 * and the names that use them follow (docs/decisions/0021-hosts-in-use-are-renamed.md).
 */
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import type { Order } from "#domains/orders/order.ts";
import type { Ask } from "#domains/registry/ask.ts";
import type { RegistrySessions } from "#domains/registry/sessions.ts";
import { type HostInfo, hostInfo } from "#registry/epp/commands/host/info.ts";

/** A host's name before and after. */
export interface Renamed {
  from: string;
  to: string;
}

const labelBytes = 10;

/** A name that no host has: nothing in it says whose the host was. */
export const sacrificialName = ({ random }: Pick<Context, "random">, suffix: string): string =>
  `ns-${random.bytes(labelBytes).toString("hex")}.${suffix}`;

// A host belongs to one registry: one of the same name elsewhere is another object. Rows are locked in the order of their names, as
// by every other statement.
const rename = statement(
  "domains-rename-host",
  `WITH users AS MATERIALIZED (
     SELECT domain_name FROM domains
     WHERE domain_name = ANY (ARRAY(SELECT names_at_hosts(ARRAY[$from::text]))) AND registry_id = $registry_id
       AND domain_name <> $name
     ORDER BY domain_name FOR UPDATE),
   renamed AS (
     UPDATE domains AS domain SET delegation = (
       SELECT jsonb_agg(CASE WHEN server ->> 'name' = $from THEN jsonb_build_object('name', $to::text) ELSE server END ORDER BY place)
       FROM jsonb_array_elements(delegation) WITH ORDINALITY AS shown_server(server, place))
     FROM users WHERE domain.domain_name = users.domain_name RETURNING domain.domain_name, reseller_id)
   INSERT INTO domain_history (domain_name, reseller_id, at, event, note)
   SELECT domain_name, reseller_id, $now, 'changed-at-registry', $note FROM renamed`,
  {},
);

/** The portfolio shows a host's new name at all names that use it, and their resellers get an event. It may be repeated. */
export async function showRename(
  { context }: RegistrySessions,
  { registry_id, domain_name: name }: Order,
  { from, to }: Renamed,
): Promise<void> {
  const note = `name_servers: "${from}" became "${to}" with an order to delete ${name}`;
  await context.database.query(rename, { registry_id, name, from, to, note, now: context.clock.now() });
}

export type SeenHosts = { is: "hosts"; hosts: HostInfo[] } | { is: "unknown"; reason: string };

/** Hosts that do not exist are left out. Never throws. @param names in lower case, as the hosts then have them */
export async function lookAtHosts(ask: Ask, names: readonly string[]): Promise<SeenHosts> {
  const hosts: HostInfo[] = [];
  try {
    for (const name of names) {
      const { code, data } = await ask(hostInfo(name));
      if (code === 2303) continue;
      if (code !== 1000 || !data) return { is: "unknown", reason: `info about ${name} was answered with ${code}` };
      const isPending = data.statuses.some((status) => status.startsWith("pending"));
      if (isPending) return { is: "unknown", reason: `a change of ${name} is pending` };
      hosts.push({ ...data, name });
    }
  } catch (error) {
    return { is: "unknown", reason: error instanceof Error ? error.message : String(error) };
  }
  return { is: "hosts", hosts };
}
