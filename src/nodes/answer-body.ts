import type { IncomingMessage } from "node:http";

/** What a server answers, and no more of it than a process may hold. @throws RangeError when it is longer */
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
