import { isIPv6, SocketAddress } from "node:net";

/** One text for each address: IPv4 also of what is mapped into IPv6 (RFC 4291 section 2.5.5.2), IPv6 as RFC 5952 writes it. */
export function plainAddress(address: string): string {
  if (!isIPv6(address) || address.includes("%")) return address;
  const canonical = new SocketAddress({ address, family: "ipv6" }).address;
  return canonical.replace(/^::ffff:(?=\d+\.)/, "");
}
