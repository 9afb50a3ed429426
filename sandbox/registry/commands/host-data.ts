import { isIPv4, isIPv6 } from "node:net";
import { requireDomainName, superordinateName } from "../domain-name.ts";
import type { Host, HostAddress } from "../objects.ts";
import type { Registry } from "../registry.ts";
import { Refusal } from "../result-codes.ts";
import { childrenOf, childToken, tokenOf, type XmlElement } from "../xml.ts";
import { findDomain, requireNothingPending } from "./domain-data.ts";

/** Addresses of one host, and name servers of one name: as many as fit into a DNS answer of 512 bytes. */
export const hostsMax = 13;

/** The host of a transform. Refuses with 2303 if it does not exist, 2201 if another registrar sponsors it. */
export function requireOwnHost(registry: Registry, registrar: string, element: XmlElement): Host {
  const host = registry.store.hosts.find(requireDomainName(childToken(element, "name")));
  if (!host) throw new Refusal(2303, "there is no such host");
  if (host.clID !== registrar) throw new Refusal(2201, "another registrar sponsors the host");
  requireNothingPending(host);
  return host;
}

/** Whether a domain delegates to the host. */
export function isHostLinked({ store }: Registry, name: string): boolean {
  return store.domains.values().some(({ delegation }) => delegation?.servers.some((server) => server.name === name));
}

/**
 * Refuses a host below a name of this registry unless the name exists (2303), the client sponsors it (2201), and nothing about
 * it is pending (2304).
 *
 * @returns whether the host is below such a name, and so has glue (RFC 5732 §1.1)
 */
export function requireSuperordinate(registry: Registry, registrar: string, hostName: string): boolean {
  const name = superordinateName(hostName, registry.suffixes);
  if (name === undefined) return false;
  const domain = findDomain(registry, name);
  if (!domain) throw new Refusal(2303, `${name} does not exist`);
  if (domain.clID !== registrar) throw new Refusal(2201, `another registrar sponsors ${name}`);
  requireNothingPending(domain);
  return true;
}

/** Refuses with 2003 a host without the glue that it needs, with 2306 unneeded or too many addresses. */
export function requireFittingAddresses(addresses: readonly HostAddress[], isSubordinate: boolean): void {
  if (isSubordinate && addresses.length === 0)
    throw new Refusal(2003, "a host below a name of this registry needs an address");
  if (!isSubordinate && addresses.length > 0)
    throw new Refusal(2306, "only a host below a name of this registry has addresses");
  if (addresses.length > hostsMax) throw new Refusal(2306, `at most ${hostsMax} addresses`);
  if (new Set(addresses.map(({ address }) => address)).size < addresses.length) {
    throw new Refusal(2306, "an address is set already");
  }
}

/** The addresses under `local`; refuses with 2005 one that does not match its version. */
export function addressesOf(parent: XmlElement, local: "addr" | "hostAddr"): HostAddress[] {
  return childrenOf(parent, local).map((element) => {
    const version = element.attributes.ip === "v6" ? "v6" : "v4";
    const address = tokenOf(element).toLowerCase();
    if (!(version === "v6" ? isIPv6(address) : isIPv4(address))) throw new Refusal(2005, `not an IP${version} address`);
    return { version, address };
  });
}
