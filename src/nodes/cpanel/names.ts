/** How our accounts are called on a panel, and by what we know them again. */
import type { AccountKey } from "#nodes/driver.ts";

/** Nothing else on a panel is ours. */
const userPrefix = "dh";
/** With the prefix eight characters, which all uids have room in: a panel may tell users apart by the first eight alone. */
const uidDigits = 6;
const uidRadix = 36;

/** The customer's FTP account; a panel adds `@` and the domain. */
export const customerLogin = "site";

/** Of our own FTP accounts, which live as long as one probe. */
export const probeLoginPrefix = "dhprobe-";

/** Where a panel keeps a site, below the account's home. */
export const siteFolder = "public_html";

export interface MarkerSettings {
  /** Lower-case letters and digits: tells this gateway's node from all others that may use the panel. */
  installation: string;
  /** Of the contact addresses that mark our accounts. */
  mailDomain: string;
}

export function panelUser(uid: number): string {
  return `${userPrefix}${uid.toString(uidRadix).padStart(uidDigits, "0")}`;
}

/** The site's platform name is the account's main domain: a customer's own name would become a zone before it is proven. */
export function panelDomain(identifier: string, siteDomain: string): string {
  return `${identifier}.${siteDomain}`;
}

/** The user name with which a customer logs in to a panel's FTP server. */
export function panelFtpUsername(identifier: string, siteDomain: string): string {
  return `${customerLogin}@${panelDomain(identifier, siteDomain)}`;
}

/** The account's contact address: what it is for, of which gateway, and its uid. */
export function markerOf({ installation, mailDomain }: MarkerSettings, uid: number): string {
  return `deedhouse+${installation}-${uid}@${mailDomain}`;
}

/** The key of an account that carries our marker; nothing for all others. */
export function keyOf(
  settings: MarkerSettings & { siteDomain: string },
  shown: { user: string; domain: string; email: string },
): AccountKey | undefined {
  const below = `.${settings.siteDomain}`;
  const marker = /-([1-9][0-9]{0,9})@/.exec(shown.email);
  const uid = Number(marker?.[1]);
  if (marker === null || shown.email !== markerOf(settings, uid) || shown.user !== panelUser(uid)) return undefined;
  return shown.domain.endsWith(below) ? { identifier: shown.domain.slice(0, -below.length), uid } : undefined;
}
