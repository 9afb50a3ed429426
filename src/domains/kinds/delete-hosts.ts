/**
 * The hosts below a name that is to be deleted. While there are any, a registry refuses the delete (2305; RFC 5731 §3.2.2). Those
 * that nothing uses are deleted first, and the name's own use of them ends first of all. Those that other names use are renamed, if
 * the profile has a suffix for that, so that no reseller can keep another one's name alive.
 */
import { statement } from "#db/statement.ts";
import { before, foundOf, planOfRest, planToStay } from "#domains/kinds/put-back.ts";
import { isScheduled } from "#domains/kinds/scheduled.ts";
import { lookAtHosts, type Renamed, sacrificialName, showRename } from "#domains/kinds/subordinate-hosts.ts";
import type { Plan } from "#domains/orders/kind.ts";
import type { Order } from "#domains/orders/order.ts";
import type { Ask } from "#domains/registry/ask.ts";
import type { RegistrySessions } from "#domains/registry/sessions.ts";
import type { DomainInfo } from "#registry/epp/commands/domain/info.ts";
import { domainUpdate } from "#registry/epp/commands/domain/update.ts";
import { hostDelete } from "#registry/epp/commands/host/delete.ts";
import type { HostInfo } from "#registry/epp/commands/host/info.ts";
import { hostUpdate } from "#registry/epp/commands/host/update.ts";

// All portfolios: any name that uses a host prevents the delete.
const usersOfHosts = statement(
  "names-using-hosts",
  `WITH users AS MATERIALIZED (
     SELECT host, domain_name, reseller_id, registry_id FROM unnest($hosts::text[]) AS host
     CROSS JOIN names_at_hosts(ARRAY[host]) AS used (domain_name) JOIN domains USING (domain_name) WHERE domain_name <> $name)
   SELECT host, bool_or(registry_id = $registry_id) AS is_in_the_way,
     coalesce((array_agg(domain_name ORDER BY domain_name) FILTER (WHERE reseller_id = $reseller_id))[1:$names_max::int4], '{}') AS own
   FROM users GROUP BY host ORDER BY host`,
  { host: "text?", is_in_the_way: "bool?", own: "text[]?" },
);

/** How many names an order names as the users of a host. */
const shownNamesMax = 10;

/** @returns nothing when no host is in the way of the delete */
export async function planHosts(
  sessions: RegistrySessions,
  order: Order,
  info: DomainInfo,
  ask: Ask,
): Promise<Plan | undefined> {
  const { domain_name: name, reseller_id, registry_id } = order;
  const below = info.subordinateHosts.map((host) => host.toLowerCase());
  const shown = await showRenames(sessions, order, below, ask);
  if (shown) return shown;
  const rest = planOfRest(sessions, order);
  if (rest || below.length === 0) return rest;
  const seen = await lookAtHosts(ask, below);
  if (seen.is === "unknown") return seen;
  const { hosts } = seen;
  const own = info.nameServers?.hosts.filter((host) => below.includes(host.name.toLowerCase())) ?? [];
  const ownNames = own.map((host) => host.name.toLowerCase());
  const asked = { reseller_id, registry_id, name, hosts: below, names_max: shownNamesMax };
  const users = await sessions.context.database.query(usersOfHosts, asked);
  const ownUsers = [...new Set(users.flatMap((user) => user.own ?? []))].slice(0, shownNamesMax);
  // A reseller can give them other name servers first. No reseller reads the refusal of an order of the schedule.
  if (ownUsers.length > 0 && !isScheduled(order)) {
    const what = `your names ${ownUsers.join(", ")} use name servers below it`;
    const reason = `the name cannot be deleted, because ${what}`;
    return planToStay(sessions, order, info, ask, { reason, isOperators: false });
  }
  const inTheWay = new Set(users.filter((user) => user.is_in_the_way).map(({ host }) => host));
  // While the name itself uses a host, `linked` does not say whether names of other registrars do.
  const isUsed = ({ name: host, statuses }: HostInfo) =>
    inTheWay.has(host) || (statuses.includes("linked") && !ownNames.includes(host));
  const used = hosts.find(isUsed);
  if (used) return planUsed(sessions, order, info, ask, { hosts, used });
  const found = before(order, info, hosts);
  if (own.length > 0) {
    const remove = { nameServers: { hostModel: "objects", hosts: own } } as const;
    return { is: "send", command: domainUpdate({ name, remove }), found };
  }
  const [first] = hosts;
  if (!first) return { is: "unknown", reason: "the registry shows hosts below the name that do not exist" };
  return { is: "send", command: hostDelete(first.name), found };
}

/** A host that other names use is renamed, or the order waits for an operator. Whose names they are is said to nobody. */
function planUsed(
  sessions: RegistrySessions,
  order: Order,
  info: DomainInfo,
  ask: Ask,
  { hosts, used }: { hosts: readonly HostInfo[]; used: HostInfo },
): Plan | Promise<Plan> {
  const { sacrificialSuffix: suffix } = sessions.profile;
  if (suffix === undefined) {
    const reason = `the name cannot be deleted yet, because other names use ${used.name} below it`;
    return planToStay(sessions, order, info, ask, { reason, isOperators: true });
  }
  const { renamed = [] } = foundOf(order);
  const known = renamed.find(({ from, to }) => from === used.name && to.endsWith(`.${suffix}`));
  const { to } = known ?? { to: sacrificialName(sessions.context, suffix) };
  const { name, addresses } = used;
  const remove = addresses.length > 0 ? { remove: { addresses } } : {};
  const all: Renamed[] = [...renamed.filter(({ from }) => from !== name), { from: name, to }];
  const found = { ...before(order, info, hosts), renamed: all };
  return { is: "send", command: hostUpdate({ name, newName: to, ...remove }), found };
}

/** Shows the new names of hosts whose renaming the registry shows. @returns why that is not known */
async function showRenames(
  sessions: RegistrySessions,
  order: Order,
  below: readonly string[],
  ask: Ask,
): Promise<Plan | undefined> {
  const gone = foundOf(order).renamed?.filter(({ from }) => !below.includes(from)) ?? [];
  const seen = await lookAtHosts(
    ask,
    gone.map(({ to }) => to),
  );
  if (seen.is === "unknown") return seen;
  for (const renamed of gone) {
    if (seen.hosts.some(({ name }) => name === renamed.to)) await showRename(sessions, order, renamed);
  }
  return undefined;
}
