/** The address at which this host reaches a server that listens on the given one. */
export function nearAddress(host: string): string {
  if (host === "0.0.0.0") return "127.0.0.1";
  return host === "::" ? "::1" : host;
}

/** RFC 3986 section 3.2.2 */
export function hostInUrl(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}
