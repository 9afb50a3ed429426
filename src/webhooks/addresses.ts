/**
 * Which addresses a webhook may be sent to. A reseller chooses the URL, so it must not lead to what only the service can reach: its own
 * addresses, private networks, other services of the machine. The URL is judged when it is set, and again before each connection, because
 * names can lead elsewhere by then.
 */
import { lookup, Resolver } from "node:dns/promises";
import { BlockList, isIP, isIPv6 } from "node:net";
import { networkInterfaces } from "node:os";
import type { WebhookSettings } from "#context.ts";
import { isPublicUnicast } from "#lib/net/public-address.ts";

/** The service does not send there. The message is for the reseller. */
export class RefusedAddress extends Error {}

/** @throws Error for a text that is not a range in CIDR form */
export function parseRanges(texts: readonly string[]): BlockList {
  const ranges = new BlockList();
  for (const text of texts) {
    const [base = "", prefix = ""] = text.split("/");
    const bits = Number(prefix);
    const isValid = isIP(base) > 0 && /^\d{1,3}$/.test(prefix) && bits <= (isIPv6(base) ? 128 : 32);
    if (!isValid) throw new Error(`"${text}" is not a range such as 10.1.0.0/16`);
    ranges.addSubnet(base, bits, familyOf(base));
  }
  return ranges;
}

const familyOf = (address: string) => (isIPv6(address) ? "ipv6" : "ipv4");

/** Whether the service may connect to an address. An IPv4 address within IPv6 is judged as the IPv6 address that it is. */
export function isAllowedAddress({ ranges }: WebhookSettings, address: string): boolean {
  const plain = address.replace(/%.*$/, "");
  if (parseRanges(ranges).check(plain, familyOf(plain))) return true;
  return plain === address && isPublicUnicast(plain) && !ownAddresses().has(plain);
}

function ownAddresses(): ReadonlySet<string> {
  return new Set(
    Object.values(networkInterfaces()).flatMap((interfaces = []) => interfaces.map(({ address }) => address)),
  );
}

const urlCharactersMax = 2_000;

/** @throws RefusedAddress that says what is wrong with the URL */
export function parseWebhookUrl({ allowsPlainHttp }: WebhookSettings, text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isSecure = url?.protocol === "https:";
  if (!url || !(isSecure || url.protocol === "http:")) throw new RefusedAddress("Give an https:// URL.");
  if (!isSecure && !allowsPlainHttp) throw new RefusedAddress("Give an https:// URL: http:// can be read on the way.");
  if (url.username !== "" || url.password !== "") throw new RefusedAddress("Leave out user and password.");
  if (url.hash !== "") throw new RefusedAddress("Leave out what follows #.");
  if (url.href.length > urlCharactersMax) throw new RefusedAddress(`Give at most ${urlCharactersMax} characters.`);
  return url;
}

/**
 * The addresses of a URL's host that may be connected to.
 * @param dnsServers with or without a port; empty: the system's look-up
 * @throws RefusedAddress when there is none
 */
export async function findAddresses(
  settings: WebhookSettings,
  dnsServers: readonly string[],
  url: URL,
): Promise<string[]> {
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  const found = isIP(host) ? [host] : await resolve(dnsServers, host);
  if (found.length === 0) throw new RefusedAddress(`The name ${host} has no address.`);
  const allowed = found.filter((address) => isAllowedAddress(settings, address));
  if (allowed.length === 0) {
    throw new RefusedAddress(`${host} is not a public address, and the operator has not allowed its range.`);
  }
  return allowed;
}

const dnsTimeoutMs = 3_000;

/** @throws RefusedAddress when the name servers do not answer */
async function resolve(dnsServers: readonly string[], host: string): Promise<string[]> {
  if (dnsServers.length === 0) {
    const found = await lookup(host, { all: true }).catch(() => []);
    return found.map(({ address }) => address);
  }
  const resolver = new Resolver({ timeout: dnsTimeoutMs, tries: 1 });
  resolver.setServers(dnsServers);
  const found = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
  return found.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
}
