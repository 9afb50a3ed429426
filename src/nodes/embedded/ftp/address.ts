import { BlockList, isIPv4 } from "node:net";

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");

export function isLoopback(address: string): boolean {
  return address !== "" && loopback.check(address, isIPv4(address) ? "ipv4" : "ipv6");
}
