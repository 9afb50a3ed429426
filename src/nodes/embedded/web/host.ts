const hostCharsMax = 255;
const hostName = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/;

/** The host name of a Host header, without port and trailing dot, in lower case; undefined when it is none. */
export function parseHost(header: string | undefined): string | undefined {
  const host = header
    ?.toLowerCase()
    .replace(/:\d{1,5}$/, "")
    .replace(/\.$/, "");
  return host !== undefined && host.length <= hostCharsMax && hostName.test(host) ? host : undefined;
}

/** The identifier whose site a host name asks for: the platform's name of the account, or its bare name. */
export function identifierOf(host: string, siteDomain: string, bareIdentifiers: boolean): string | undefined {
  const suffix = `.${siteDomain}`;
  if (host.endsWith(suffix)) return host.slice(0, -suffix.length);
  return bareIdentifiers && host !== siteDomain ? host : undefined;
}
