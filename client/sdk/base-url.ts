/** Reads the address of a service. Throws `TypeError`. */
export function parseBaseUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || (url.protocol !== "http:" && url.protocol !== "https:")) {
    throw new TypeError(`the URL "${text}" is not of the form https://host[:port][/path]`);
  }
  if (url.username || url.password || url.search || url.hash) {
    throw new TypeError("the URL must not carry a user, a password, a query or a fragment");
  }
  return url;
}
