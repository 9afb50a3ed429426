import { connect } from "node:net";

const reconnectMs = 500;
const addresses = ["127.0.0.71", "127.0.0.72", "127.0.0.73", "127.0.0.74"];

/** Holds `countPerAddress` connections from each of four addresses until the signal fires, and replaces closed ones. */
export function holdFromFourAddresses(
  { host, port }: { host: string; port: number },
  countPerAddress: number,
  signal: AbortSignal,
): Promise<void> {
  const hold = (localAddress: string) => {
    if (signal.aborted) return;
    const socket = connect({ host, port, localAddress }).resume();
    socket.on("error", () => {});
    socket.once("close", () => setTimeout(hold, reconnectMs, localAddress));
    signal.addEventListener("abort", () => socket.destroy(), { once: true });
  };
  for (const address of addresses) for (let count = 0; count < countPerAddress; count++) hold(address);
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}
