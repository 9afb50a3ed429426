import { requireDomainName } from "../domain-name.ts";
import type { Delegation } from "../objects.ts";
import type { Registry } from "../registry.ts";
import { Refusal } from "../result-codes.ts";
import { childrenOf, childToken, tokenOf, type XmlElement } from "../xml.ts";
import { addressesOf, hostsMax, requireFittingAddresses } from "./host-data.ts";

/**
 * Parses `<domain:ns>`. Refuses with 2306 the form of the other host model, and with 2303 a host object that does not exist. A
 * host attribute has addresses if and only if it is below the name itself.
 */
export function delegationOf(registry: Registry, ns: XmlElement, domainName: string): Delegation {
  const objects = childrenOf(ns, "hostObj");
  const attributes = childrenOf(ns, "hostAttr");
  if (registry.settings.hostModel === "objects") {
    if (attributes.length > 0) throw new Refusal(2306, "name servers are objects here: hostObj");
    return requireSensible({ form: "hostObj", servers: objects.map((host) => objectServer(registry, host)) });
  }
  if (objects.length > 0) throw new Refusal(2306, "name servers are attributes here: hostAttr");
  return requireSensible({ form: "hostAttr", servers: attributes.map((host) => attributeServer(host, domainName)) });
}

function objectServer({ store }: Registry, host: XmlElement): Delegation["servers"][number] {
  const name = requireDomainName(tokenOf(host));
  if (!store.hosts.find(name)) throw new Refusal(2303, `host ${name} does not exist`);
  return { name, addresses: [] };
}

function attributeServer(host: XmlElement, domainName: string): Delegation["servers"][number] {
  const name = requireDomainName(childToken(host, "hostName"));
  const addresses = addressesOf(host, "hostAddr");
  requireFittingAddresses(addresses, name === domainName || name.endsWith(`.${domainName}`));
  return { name, addresses };
}

/** Merges both. Refuses with 2306 a repeated server, and too many. */
export function joinDelegations(current: Delegation | undefined, added: Delegation): Delegation {
  if (!current) return added;
  if (current.form !== added.form) throw new Refusal(2306, "hostObj and hostAttr do not mix");
  return requireSensible({ form: current.form, servers: [...current.servers, ...added.servers] });
}

function requireSensible(delegation: Delegation): Delegation {
  const names = delegation.servers.map(({ name }) => name);
  const double = names.find((name, index) => names.indexOf(name) < index);
  if (double !== undefined) throw new Refusal(2306, `${double} is set already`);
  if (names.length > hostsMax) throw new Refusal(2306, `at most ${hostsMax} name servers`);
  return delegation;
}

/** The names in an `<domain:ns>`, in either form. */
export function serverNamesOf(ns: XmlElement): string[] {
  const objects = childrenOf(ns, "hostObj").map(tokenOf);
  const attributes = childrenOf(ns, "hostAttr").map((host) => childToken(host, "hostName"));
  return [...objects, ...attributes].map(requireDomainName);
}
