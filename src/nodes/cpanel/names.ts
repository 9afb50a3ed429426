/** The names of our accounts on a panel, and the marker that identifies them. */
import type { AccountKey } from "#nodes/driver.ts";

/** The user names of our accounts begin with it. */
const userPrefix = "dh";
/** With the prefix, eight characters, enough for every uid: a panel may compare only the first eight of a user name. */
const uidDigits = 6;
const uidRadix = 36;

/** The customer's FTP account. The panel appends `@` and the domain. */
export const customerLogin = "site";

/** Prefix of our temporary FTP accounts, which exist for one probe. */
export const probeLoginPrefix = "dhprobe-";

/** The folder of the site, relative to the account's home. */
export const siteFolder = "public_html";

export interface MarkerSettings {
  /** Lower-case letters and digits: distinguishes this gateway from others that use the same panel. */
  installation: string;
  /** The domain of the contact addresses that mark our accounts. */
  mailDomain: string;
}

export function panelUser(uid: number): string {
  return `${userPrefix}${uid.toString(uidRadix).padStart(uidDigits, "0")}`;
}

/** The account's main domain is the site's platform name: a customer's own name would become a zone before it is proven. */
export function panelDomain(identifier: string, siteDomain: string): string {
  return `${identifier}.${siteDomain}`;
}

/** The user name for logins to a panel's FTP server. */
export function panelFtpUsername(identifier: string, siteDomain: string): string {
  return `${customerLogin}@${panelDomain(identifier, siteDomain)}`;
}

/** The account's contact address, which contains the gateway and the uid. */
export function markerOf({ installation, mailDomain }: MarkerSettings, uid: number): string {
  return `deedhouse+${installation}-${uid}@${mailDomain}`;
}

/** The key of an account that carries our marker; undefined for all others. */
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
