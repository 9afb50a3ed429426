import type { Attack } from "../attack.ts";
import { flood, tinyRequests } from "../flood.ts";

const connectionsCount = 700;

export const attack: Attack = {
  name: "site-pipelining",
  about: `${connectionsCount} connections to the sites of the embedded node from one address, each with 64 KB of tiny requests in one write, again and again`,
  victim: "site-read",
  run({ web: { host, port } }, signal) {
    return flood({ host, port, connectionsCount, bytes: tinyRequests("nobody.localhost") }, signal);
  },
};
