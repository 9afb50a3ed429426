import { BlockList, isIP, isIPv6 } from "node:net";

/** @throws Error for a text that is not a range in CIDR form */
export function parseRanges(texts: readonly string[]): BlockList {
  const ranges = new BlockList();
  for (const text of texts) {
    const [base = "", prefix = ""] = text.split("/");
    const bits = Number(prefix);
    const isValid = isIP(base) > 0 && /^\d{1,3}$/.test(prefix) && bits <= (isIPv6(base) ? 128 : 32);
    if (!isValid) throw new Error(`"${text}" is not a range such as 10.1.0.0/16`);
    ranges.addSubnet(base, bits, addressFamily(base));
  }
  return ranges;
}

export const addressFamily = (address: string) => (isIPv6(address) ? "ipv6" : "ipv4");
