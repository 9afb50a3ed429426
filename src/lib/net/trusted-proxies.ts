import { BlockList, isIP } from "node:net";

/** The peers that are trusted to name the client they speak for. */
export interface TrustedProxies {
  isTrusted(address: string): boolean;
}

/**
 * @param entries addresses and ranges (`10.0.0.0/8`, `2001:db8::/32`)
 * @throws Error that names the invalid entry
 */
export function parseTrustedProxies(entries: readonly string[]): TrustedProxies {
  const ranges = new BlockList();
  for (const entry of entries) {
    const [, address = "", prefix] = /^([^/%]*)(?:\/([0-9]{1,3}))?$/.exec(entry) ?? [];
    const version = isIP(address);
    const family = version === 4 ? "ipv4" : "ipv6";
    const bits = version === 4 ? 32 : 128;
    if (version === 0 || Number(prefix ?? bits) > bits) throw new Error(`"${entry}" is not an address or a range`);
    // Any client could claim to be any address.
    if (Number(prefix ?? bits) === 0) throw new Error(`"${entry}" is everybody: name the proxies only`);
    ranges.addSubnet(address, Number(prefix ?? bits), family);
  }
  return {
    isTrusted: (address) => isIP(address) !== 0 && ranges.check(address, isIP(address) === 4 ? "ipv4" : "ipv6"),
  };
}
