import type { Account, Accounts } from "#nodes/embedded/accounts.ts";

const hostCharsMax = 255;
const hostName = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/;

/** The host name of a Host header, in lower case, without port and trailing dot; undefined when it is invalid. */
export function parseHost(header: string | undefined): string | undefined {
  const host = header
    ?.toLowerCase()
    .replace(/:\d{1,5}$/, "")
    .replace(/\.$/, "");
  return host !== undefined && host.length <= hostCharsMax && hostName.test(host) ? host : undefined;
}

export interface SiteNames {
  siteDomain: string;
  accounts: Pick<Accounts, "find" | "findByHostName">;
}

/** The account whose site has this host name: its platform name, or an additional one. */
export function findSite(host: string, { siteDomain, accounts }: SiteNames): Account | undefined {
  const suffix = `.${siteDomain}`;
  if (host.endsWith(suffix)) return accounts.find(host.slice(0, -suffix.length));
  return accounts.findByHostName(host);
}
