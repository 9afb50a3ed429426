import { connect } from "node:net";

const attackerAddress = "127.0.0.66";
const reconnectMs = 1_000;

export interface Flood {
  port: number;
  host: string;
  connectionsCount: number;
  /** What each connection sends as soon as it is open. */
  bytes?: Buffer;
}

/** Keeps `connectionsCount` connections from one address open until the signal fires, and replaces closed ones. */
export function flood({ port, host, connectionsCount, bytes }: Flood, signal: AbortSignal): Promise<void> {
  const hold = () => {
    if (signal.aborted) return;
    const socket = connect({ host, port, localAddress: attackerAddress });
    const stop = () => socket.destroy();
    signal.addEventListener("abort", stop, { once: true });
    socket.on("error", () => {}).resume();
    if (bytes) socket.write(bytes);
    socket.once("close", () => {
      signal.removeEventListener("abort", stop);
      setTimeout(hold, reconnectMs);
    });
  };
  for (let count = 0; count < connectionsCount; count++) hold();
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}

/** Requests without a key, as small as they can be, to a length of 64 KB. */
export function tinyRequests(host: string): Buffer {
  const request = `GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
  return Buffer.from(request.repeat(Math.floor(65_536 / request.length)));
}
