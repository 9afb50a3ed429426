/** A domain's name servers: host objects (RFC 5732) or attributes of the domain (RFC 5731 §1.1), depending on the registry. */
import { isIPv6 } from "node:net";
import { domainNamespace } from "#registry/epp/namespaces.ts";
import type { XmlElement } from "#registry/epp/xml/xml.ts";
import { elementsOf, findChild, findChildren, getText, textOf } from "#registry/epp/xml/xml.ts";

export interface NameServer {
  /** An A-label name. */
  readonly name: string;
  /** IPv4 and IPv6 addresses. For a host object none are sent, because the object has them. */
  readonly addresses: readonly string[];
}

export interface NameServers {
  readonly hostModel: "objects" | "attributes";
  readonly hosts: readonly NameServer[];
}

const domain = elementsOf(domainNamespace);

/** `<domain:ns>`; undefined when there are no name servers. */
export function nameServersElement(nameServers: NameServers | undefined): XmlElement | undefined {
  if (!nameServers || nameServers.hosts.length === 0) return undefined;
  const { hostModel, hosts } = nameServers;
  return domain(
    "ns",
    hosts.map(({ name, addresses }) =>
      hostModel === "objects"
        ? domain("hostObj", [name])
        : domain("hostAttr", [
            domain("hostName", [name]),
            ...addresses.map((address) => domain("hostAddr", [address], { ip: addressVersion(address) })),
          ]),
    ),
  );
}

/** RFC 5732 §2.5: the attribute for an address's IP version. */
export function addressVersion(address: string): "v4" | "v6" {
  return isIPv6(address) ? "v6" : "v4";
}

/** Reads `<domain:ns>` in either form; undefined when the domain has none. @throws XmlError */
export function findNameServers(parent: XmlElement): NameServers | undefined {
  const ns = findChild(parent, domainNamespace, "ns");
  if (!ns) return undefined;
  const objects = findChildren(ns, domainNamespace, "hostObj").map((host) => ({ name: textOf(host), addresses: [] }));
  if (objects.length > 0) return { hostModel: "objects", hosts: objects };
  const attributes = findChildren(ns, domainNamespace, "hostAttr").map((host) => ({
    name: getText(host, domainNamespace, "hostName"),
    addresses: findChildren(host, domainNamespace, "hostAddr").map(textOf),
  }));
  return attributes.length > 0 ? { hostModel: "attributes", hosts: attributes } : undefined;
}
