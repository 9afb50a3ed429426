/**
 * The hosts below a name that is to be deleted. While there are any, a registry refuses the delete (2305; RFC 5731 §3.2.2). Those
 * that nothing uses are deleted first. The name's own use of them ends first of all.
 */
import { statement } from "#db/statement.ts";
import type { Ask } from "#domains/changes/proof.ts";
import type { ChangeOrder } from "#domains/managing/change-orders.ts";
import type { Plan } from "#domains/managing/order-kind.ts";
import type { RegistrySessions } from "#domains/registry/sessions.ts";
import type { DomainInfo } from "#registry/epp/commands/domain/info.ts";
import { domainUpdate } from "#registry/epp/commands/domain/update.ts";
import { hostDelete } from "#registry/epp/commands/host/delete.ts";
import { type HostInfo, hostInfo } from "#registry/epp/commands/host/info.ts";

const namesUsing = statement(
  "names-using-hosts",
  `SELECT domain_name FROM domains
   WHERE reseller_id = $reseller_id AND domain_name <> $name AND domain_name = ANY (ARRAY(SELECT names_at_hosts($hosts::text[])))
   ORDER BY domain_name LIMIT $rows_max`,
  { domain_name: "text" },
);

/** How many names an order names as the users of a host. */
const shownNamesMax = 10;

/** @returns nothing when no host is in the way of the delete */
export async function planHosts(
  sessions: RegistrySessions,
  order: ChangeOrder,
  info: DomainInfo,
  ask: Ask,
): Promise<Plan | undefined> {
  const { domain_name: name } = order;
  const below = info.subordinateHosts.map((host) => host.toLowerCase());
  if (below.length === 0) return undefined;
  const seen = await lookAtHosts(ask, below);
  if (seen.is === "unknown") return seen;
  const { hosts } = seen;
  const own = info.nameServers?.hosts.filter((host) => below.includes(host.name.toLowerCase())) ?? [];
  const ownNames = own.map((host) => host.name.toLowerCase());
  const foreign = hosts.filter(({ name: host, statuses }) => statuses.includes("linked") && !ownNames.includes(host));
  const users = await sessions.context.database.query(namesUsing, {
    reseller_id: order.reseller_id,
    name,
    hosts: below,
    rows_max: shownNamesMax,
  });
  if (users.length > 0 || foreign.length > 0) return inUse(users, foreign);
  if (own.length > 0) {
    return {
      is: "send",
      command: domainUpdate({ name, remove: { nameServers: { hostModel: "objects", hosts: own } } }),
    };
  }
  const [first] = hosts;
  if (!first) return { is: "unknown", reason: "the registry shows hosts below the name that do not exist" };
  if (first.statuses.includes("pendingDelete")) return { is: "unknown", reason: `${first.name} is being deleted` };
  return { is: "send", command: hostDelete(first.name) };
}

/** Whose names use a host is said only of the caller's own. */
function inUse(users: readonly { domain_name: string }[], foreign: readonly HostInfo[]): Plan {
  const names = users.map(({ domain_name }) => domain_name).join(", ");
  const hosts = foreign.map(({ name }) => name).join(", ");
  const what = names === "" ? `other names use ${hosts} below it` : `your names ${names} use name servers below it`;
  return { is: "refused", as: "failed", reason: `the name cannot be deleted, because ${what}` };
}

type Seen = { is: "hosts"; hosts: HostInfo[] } | { is: "unknown"; reason: string };

async function lookAtHosts(ask: Ask, names: readonly string[]): Promise<Seen> {
  const hosts: HostInfo[] = [];
  try {
    for (const name of names) {
      const { code, data } = await ask(hostInfo(name));
      if (code === 2303) continue;
      if (code !== 1000 || !data) return { is: "unknown", reason: `info about ${name} was answered with ${code}` };
      hosts.push({ ...data, name });
    }
  } catch (error) {
    return { is: "unknown", reason: error instanceof Error ? error.message : String(error) };
  }
  return { is: "hosts", hosts };
}
