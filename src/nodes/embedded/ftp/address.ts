import { BlockList, isIPv4 } from "node:net";

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");

/** An address in its own family: a dual-stack socket gives IPv4 addresses as `::ffff:192.0.2.1`. */
export function plainAddress(address: string | undefined): string {
  return (address ?? "").replace(/^::ffff:(?=\d+\.)/, "");
}

export function isLoopback(address: string): boolean {
  return address !== "" && loopback.check(address, isIPv4(address) ? "ipv4" : "ipv6");
}
