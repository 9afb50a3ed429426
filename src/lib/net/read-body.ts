import type { IncomingMessage } from "node:http";

const firstBytes = 1_024;

/**
 * Reads a message's body to its end, unless it is longer. Each part is copied out of what the socket read: kept as they
 * come, parts of one byte take 210 each (measured), since each is an object and keeps all of its read.
 * @returns nothing when the body is longer; the rest of it stays unread @throws when it does not come whole
 */
export function readBody(message: IncomingMessage, bytesMax: number): Promise<Buffer | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer | undefined>();
  let body = Buffer.allocUnsafe(firstBytes);
  let length = 0;
  const take = (part: Buffer) => {
    const end = length + part.length;
    if (end > bytesMax) {
      message.off("data", take).pause();
      return resolve(undefined);
    }
    if (end > body.length) body = Buffer.concat([body], Math.max(end, body.length * 2));
    length += part.copy(body, length);
  };
  if (Number(message.headers["content-length"] ?? 0) > bytesMax) resolve(undefined);
  else message.on("data", take);
  message.once("end", () => resolve(body.subarray(0, length))).once("error", reject);
  return promise;
}
