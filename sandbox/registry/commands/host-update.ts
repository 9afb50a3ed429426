import { requireDomainName, superordinateName } from "../domain-name.ts";
import type { Host, HostAddress } from "../objects.ts";
import type { CommandHandler, Registry } from "../registry.ts";
import { Refusal } from "../result-codes.ts";
import { childToken, findChild, type XmlElement } from "../xml.ts";
import { changedStatuses, clientStatusesOf } from "./domain-data.ts";
import { addressesOf, requireFittingAddresses, requireOwnHost, requireSuperordinate } from "./host-data.ts";

/** RFC 5732 §3.2.5: rem, then add, then chg, all or nothing. Delegations follow a new name. */
export const updateHost: CommandHandler = ({ registry, registrar, element }) => {
  const host = requireOwnHost(registry, registrar, element);
  const rem = findChild(element, "rem");
  const add = findChild(element, "add");
  const chg = findChild(element, "chg");
  if (!rem && !add && !chg) throw new Refusal(2003, "add, rem or chg is required");
  const removed = rem ? clientStatusesOf(rem) : [];
  if (host.statuses.includes("clientUpdateProhibited") && !removed.includes("clientUpdateProhibited")) {
    throw new Refusal(2304, "clientUpdateProhibited");
  }
  const name = chg ? requireDomainName(childToken(chg, "name")) : host.name;
  const addresses = changedAddresses(host.addresses, rem, add);
  if (name !== host.name) requireRenamable(registry, registrar, host, name);
  requireFittingAddresses(addresses, superordinateName(name, registry.suffixes) !== undefined);

  const statuses = changedStatuses(host.statuses, rem, add);
  const upDate = registry.now().toISOString();
  registry.store.hosts.put({ ...host, name, addresses, statuses, upID: registrar, upDate });
  if (name !== host.name) rename(registry, host.name, name);
  return { code: 1000 };
};

function changedAddresses(
  current: readonly HostAddress[],
  rem: XmlElement | undefined,
  add: XmlElement | undefined,
): HostAddress[] {
  const removed = rem ? addressesOf(rem, "addr") : [];
  const left = current.filter(({ address }) => !removed.some((other) => other.address === address));
  if (left.length + removed.length > current.length)
    throw new Refusal(2306, "an address or status to remove does not exist");
  return [...left, ...(add ? addressesOf(add, "addr") : [])];
}

/** Refuses a name in use (2302), and to rename an external host that names of other registrars delegate to (2305; RFC 5732 §3.2.5). */
function requireRenamable(registry: Registry, registrar: string, host: Host, name: string): void {
  if (registry.store.hosts.find(name)) throw new Refusal(2302, `${name} exists already`);
  requireSuperordinate(registry, registrar, name);
  if (superordinateName(host.name, registry.suffixes) !== undefined) return;
  const foreign = registry.store.domains
    .values()
    .find(
      ({ clID, delegation }) => clID !== registrar && delegation?.servers.some((server) => server.name === host.name),
    );
  if (foreign) throw new Refusal(2305, "another registrar's name delegates to the host");
}

function rename({ store }: Registry, from: string, to: string): void {
  store.hosts.delete(from);
  for (const domain of store.domains.values()) {
    const { delegation } = domain;
    if (!delegation?.servers.some((server) => server.name === from)) continue;
    const servers = delegation.servers.map((server) => (server.name === from ? { ...server, name: to } : server));
    store.domains.put({ ...domain, delegation: { ...delegation, servers } });
  }
}
