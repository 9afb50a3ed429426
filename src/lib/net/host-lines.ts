import type { IncomingMessage } from "node:http";

/** Whether a request says what it has to about its host: one line of it, and in HTTP/1.0 none at most (RFC 9112 section 3.2). */
export function hasOneHost({ httpVersion, rawHeaders }: IncomingMessage): boolean {
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!;
    if (name.length === 4 && name.toLowerCase() === "host") count += 1;
  }
  return count === 1 || (count === 0 && httpVersion === "1.0");
}
