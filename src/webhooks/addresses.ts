/**
 * Which addresses a webhook may be sent to. A reseller chooses the URL, so it must not lead to what only the service can reach:
 * its addresses, private networks, other services on the same server. The URL is judged when it is set, and again before each
 * connection, because names can lead elsewhere by then.
 */
import { isIP } from "node:net";
import { networkInterfaces } from "node:os";
import type { WebhookSettings } from "#context.ts";
import { addressFamily, parseRanges } from "#lib/net/address-ranges.ts";
import type { NameLookups } from "#lib/net/name-lookups.ts";
import { isPublicUnicast } from "#lib/net/public-address.ts";

/** The service does not send there. The message is for the reseller. */
export class RefusedAddress extends Error {}

/** Whether the service may connect to an address. An IPv4 address within IPv6 is judged as the IPv6 address that it is. */
export function isAllowedAddress({ ranges }: WebhookSettings, address: string): boolean {
  const plain = address.replace(/%.*$/, "");
  if (parseRanges(ranges).check(plain, addressFamily(plain))) return true;
  return plain === address && isPublicUnicast(plain) && !ownAddresses().has(plain);
}

function ownAddresses(): ReadonlySet<string> {
  return new Set(
    Object.values(networkInterfaces()).flatMap((interfaces = []) => interfaces.map(({ address }) => address)),
  );
}

const urlCharsMax = 2_000;

/** @throws RefusedAddress that says what is wrong with the URL */
export function parseWebhookUrl({ allowsPlainHttp }: WebhookSettings, text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isSecure = url?.protocol === "https:";
  if (!url || !(isSecure || url.protocol === "http:")) throw new RefusedAddress("Give an https:// URL.");
  if (!isSecure && !allowsPlainHttp) throw new RefusedAddress("Give an https:// URL: http:// can be read on the way.");
  if (url.username !== "" || url.password !== "") throw new RefusedAddress("Leave out user and password.");
  if (url.hash !== "") throw new RefusedAddress("Leave out what follows #.");
  if (url.href.length > urlCharsMax) throw new RefusedAddress(`Give at most ${urlCharsMax} characters.`);
  return url;
}

/** The account that gives a target, and the lookup of its name. */
export interface TargetContext {
  webhooks: WebhookSettings;
  names: Pick<NameLookups, "findAddresses">;
}

/**
 * The addresses of a URL's host that may be connected to.
 * @param resellerId who gave the URL: lookups take turns @param signal ends the lookup
 * @throws RefusedAddress when there is none. It says the same of a name that does not exist and of one that leads to an inner
 *   address: otherwise resellers could find out which inner names exist
 */
export async function findAddresses(
  { webhooks, names }: TargetContext,
  resellerId: number,
  url: URL,
  signal?: AbortSignal,
): Promise<string[]> {
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  const answer = isIP(host) ? { found: [host] } : await names.findAddresses(resellerId, host, signal);
  const found = "found" in answer ? answer.found : [];
  const allowed = found.filter((address) => isAllowedAddress(webhooks, address));
  if (allowed.length === 0)
    throw new RefusedAddress(`There is no public address for ${host}, and no other that the operator has allowed.`);
  return allowed;
}
