import type { Attack } from "../attack.ts";
import { flood } from "../flood.ts";

const connectionsCount = 200;
const bytesPerConnection = 1_000_000;

export const attack: Attack = {
  name: "blank-lines",
  about: `${connectionsCount} connections to the API from one address, each with 1 MB of blank lines in one write, again and again`,
  victim: "signed-read",
  run({ url }, signal) {
    const { hostname, port } = new URL(url);
    const bytes = Buffer.alloc(bytesPerConnection, "\r\n");
    return flood({ host: hostname, port: Number(port), connectionsCount, bytes }, signal);
  },
};
