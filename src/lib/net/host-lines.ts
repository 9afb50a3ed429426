import type { IncomingMessage } from "node:http";

/** Whether a request has exactly one Host line, or at most one in HTTP/1.0 (RFC 9112 section 3.2). */
export function hasOneHost({ httpVersion, rawHeaders }: IncomingMessage): boolean {
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!;
    if (name.length === 4 && name.toLowerCase() === "host") count += 1;
  }
  return count === 1 || (count === 0 && httpVersion === "1.0");
}
