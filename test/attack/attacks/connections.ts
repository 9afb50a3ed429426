import type { Attack } from "../attack.ts";
import { flood } from "../flood.ts";

const connectionsCount = 10_000;

export const attack: Attack = {
  name: "connections",
  about: `${connectionsCount.toLocaleString("en")} connections to the API from one address that say nothing, opened again whenever they are closed`,
  victim: "signed-read",
  run({ url }, signal) {
    const { hostname, port } = new URL(url);
    return flood({ host: hostname, port: Number(port), connectionsCount }, signal);
  },
};
