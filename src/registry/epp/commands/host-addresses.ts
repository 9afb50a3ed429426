import { hostNamespace } from "../namespaces.ts";
import type { XmlElement } from "../xml.ts";
import { elementsOf } from "../xml.ts";
import { addressVersion } from "./name-servers.ts";

const host = elementsOf(hostNamespace);

/** `<host:addr>` elements (RFC 5732 §2.5). @param addresses IPv4 and IPv6 */
export function hostAddressElements(addresses: readonly string[] = []): XmlElement[] {
  return addresses.map((address) => host("addr", [address], { ip: addressVersion(address) }));
}
