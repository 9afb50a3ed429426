/**
 * The source that limits count for a client's address: a subscriber has a whole /64 of IPv6.
 * @returns the IPv4 address, also of an IPv4-mapped one (RFC 4291 section 2.5.5.2); the first 64 bits of an IPv6
 * address
 */
export function sourceOf(address: string): string {
  if (!address.includes(":")) return address;
  const groups = expandIpv6(address);
  if (groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff) {
    return groups
      .slice(6)
      .flatMap((group) => [group >> 8, group & 255])
      .join(".");
  }
  return `${groups
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(":")}::/64`;
}

/** The eight groups of a valid IPv6 address. */
export function expandIpv6(address: string): number[] {
  const hexadecimal = address.replace(/%.*$/, "").replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_dotted, ...bytes) => {
    const [first = 0, second = 0, third = 0, fourth = 0] = bytes.slice(0, 4).map(Number);
    return `${((first << 8) | second).toString(16)}:${((third << 8) | fourth).toString(16)}`;
  });
  const [head = [], tail = []] = hexadecimal.split("::").map((part) => (part === "" ? [] : part.split(":")));
  const zeros = Array.from({ length: 8 - head.length - tail.length }, () => "0");
  return [...head, ...zeros, ...tail].map((group) => Number.parseInt(group, 16));
}
