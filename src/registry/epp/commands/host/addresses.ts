import { addressVersion } from "#registry/epp/commands/domain/name-servers.ts";
import { hostNamespace } from "#registry/epp/namespaces.ts";
import type { XmlElement } from "#registry/epp/xml/xml.ts";
import { elementsOf } from "#registry/epp/xml/xml.ts";

const host = elementsOf(hostNamespace);

/** `<host:addr>` elements (RFC 5732 §2.5). @param addresses IPv4 and IPv6 */
export function hostAddressElements(addresses: readonly string[] = []): XmlElement[] {
  return addresses.map((address) => host("addr", [address], { ip: addressVersion(address) }));
}
