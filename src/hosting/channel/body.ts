import type { IncomingMessage } from "node:http";
import type { Static, TProperties, TSchema } from "typebox";
import type { Validator } from "typebox/compile";
import { DoorRefusal } from "#hosting/channel/authenticate.ts";

/**
 * @param form compiled: a report of 2,000 accounts is checked in 1 ms instead of 31, and resellers wait meanwhile
 * @throws DoorRefusal when it is not JSON of this form
 */
export function parseBody<Schema extends TSchema>(form: Validator<TProperties, Schema>, body: Buffer): Static<Schema> {
  let value: unknown;
  try {
    value = JSON.parse(body.toString("utf8"));
  } catch {
    throw new DoorRefusal(400, "not_understood");
  }
  if (!form.Check(value)) throw new DoorRefusal(400, "not_understood");
  return value as Static<Schema>;
}

/** What is too long is not read to its end. @throws DoorRefusal when it is, or does not come whole */
export async function readBody(message: IncomingMessage, bytesMax: number): Promise<Buffer> {
  if (Number(message.headers["content-length"] ?? 0) > bytesMax) throw new DoorRefusal(413, "too_large");
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    // The connection stays for the answer.
    for await (const chunk of message.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > bytesMax) throw new DoorRefusal(413, "too_large");
      chunks.push(chunk);
    }
  } catch (error) {
    throw error instanceof DoorRefusal ? error : new DoorRefusal(400, "not_understood");
  }
  return Buffer.concat(chunks);
}
