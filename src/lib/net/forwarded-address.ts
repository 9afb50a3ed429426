/**
 * Finds the client that a proxy speaks for. Each proxy appends the address of its peer at the right end, so the list is
 * read from there, through trusted proxies, up to the first address that is not one of them. Everything further left
 * came from that client, which may have written anything.
 */
import { isIP, isIPv4, isIPv6 } from "node:net";
import { canonicalAddress } from "#lib/net/plain-address.ts";
import type { TrustedProxies } from "#lib/net/trusted-proxies.ts";

/** The header that the proxies write: RFC 7239, or its predecessor. */
export const forwardedHeaders = ["forwarded", "x-forwarded-for"] as const;
export type ForwardedHeader = (typeof forwardedHeaders)[number];

/**
 * @param peer the address of the connection, as `plainAddress` returns it
 * @param list the header's value; several lines of it are joined by commas
 * @returns the client's address; the last proxy's address when it gives none, or not a plain one
 */
export function forwardedAddress(
  { isTrusted }: TrustedProxies,
  header: ForwardedHeader,
  peer: string,
  list: string | undefined,
): string {
  let address = peer;
  let rest = list ?? "";
  while (rest !== "" && isTrusted(address)) {
    const comma = lastComma(rest);
    const entry = rest.slice(comma + 1).trim();
    rest = rest.slice(0, Math.max(comma, 0));
    // RFC 9110 section 5.6.1: empty elements of a list are ignored.
    if (entry === "") continue;
    const named = header === "forwarded" ? forwardedFor(entry) : entry;
    const next = named === undefined ? undefined : parseNode(named);
    if (next === undefined) break;
    address = next;
  }
  return address;
}

/** The last comma outside quotes, read from the right: a quote that a client left open on the left hides nothing. */
function lastComma(list: string): number {
  let isQuoted = false;
  for (let at = list.length - 1; at >= 0; at--) {
    if (list[at] === '"') isQuoted = !isQuoted;
    else if (list[at] === "," && !isQuoted) return at;
  }
  return -1;
}

/** RFC 7239 section 4. Implementations disagree on escapes in quotes, and no address needs one. */
const parameter = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+)=(?:([!#$%&'*+.^_`|~0-9A-Za-z-]+)|"([^"\\]*)")$/;

/** The `for` of one element; undefined when it has none, or two, or is malformed. */
function forwardedFor(element: string): string | undefined {
  let found: string | undefined;
  // No quoted value that we accept contains a semicolon: such parts are malformed.
  for (const part of element.split(";")) {
    if (part.trim() === "") continue;
    const [, name, token, quoted] = parameter.exec(part.trim()) ?? [];
    if (name === undefined) return undefined;
    if (name.toLowerCase() !== "for") continue;
    if (found !== undefined) return undefined;
    found = token ?? quoted;
  }
  return found;
}

/** An IPv4 address, or an IPv6 address with or without brackets, and an optional port; nothing else. */
const node = /^(?:([0-9.]+)|\[([0-9A-Fa-f:.]+)\])(?::(?:[0-9]{1,5}|_[A-Za-z0-9._-]+))?$/;

function parseNode(text: string): string | undefined {
  const [, v4, v6] = node.exec(text) ?? [];
  if (v4 !== undefined) return isIPv4(v4) ? v4 : undefined;
  if (v6 !== undefined) return isIPv6(v6) ? canonicalAddress(v6) : undefined;
  // X-Forwarded-For contains bare IPv6 addresses; a zone (%eth0) has no meaning on another host.
  return isIP(text) === 6 && !text.includes("%") ? canonicalAddress(text) : undefined;
}
