const forbidden = /[\u0000-\u001f\u007f\\/]/;

export interface RequestPath {
  /** Decoded, without empty, dotted or hidden names. */
  names: string[];
  /** The path ends with a slash, so it names a folder. */
  isFolder: boolean;
  /** As sent, without the query. */
  raw: string;
  /** With the question mark, or empty. */
  query: string;
}

/**
 * The path of a request target (RFC 9112 §3.2.1), or undefined for one that can never name a file of a site: hidden
 * names (but `/.well-known`, RFC 8615), `..`, empty names, which would make a redirect leave the site, and encoded
 * slashes.
 */
export function parseRequestPath(target: string): RequestPath | undefined {
  const [raw = "", ...rest] = target.split("?");
  const query = rest.length > 0 ? `?${rest.join("?")}` : "";
  if (!raw.startsWith("/")) return undefined;
  const isFolder = raw.endsWith("/");
  const names = decode(raw.slice(1, isFolder ? -1 : undefined));
  if (names === undefined) return undefined;
  const isServed = names.every((name, at) => {
    if (name.startsWith(".") && !(at === 0 && name === ".well-known")) return false;
    return name !== "" && !forbidden.test(name);
  });
  return isServed ? { names, isFolder, raw, query } : undefined;
}

/** The names between the slashes. Each is decoded separately, so an encoded slash is part of a name. */
function decode(path: string): string[] | undefined {
  if (path === "") return [];
  try {
    return path.split("/").map(decodeURIComponent);
  } catch {
    return undefined;
  }
}
