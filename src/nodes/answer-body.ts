import type { IncomingMessage } from "node:http";

/** Reads a response body of limited length. @throws RangeError when it is longer */
export async function readAnswerBody(response: IncomingMessage, bytesMax: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > bytesMax) {
      response.destroy();
      throw new RangeError(`the answer is longer than ${bytesMax} bytes`);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
