import type { Attack } from "../attack.ts";
import { flood, tinyRequests } from "../flood.ts";

const connectionsCount = 700;

export const attack: Attack = {
  name: "pipelining",
  about: `${connectionsCount} connections to the API from one address, each with 64 KB of tiny requests without a key in one write, again and again`,
  victim: "signed-read",
  run({ url }, signal) {
    const { hostname, port } = new URL(url);
    return flood({ host: hostname, port: Number(port), connectionsCount, bytes: tinyRequests("x") }, signal);
  },
};
