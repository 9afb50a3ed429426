/** A network that holds clients' bytes, and delivers them long after the clients have gone. */
import { startTcpRelay, type TcpRelay } from "./tcp-relay.ts";

export interface LateRelay extends TcpRelay {
  /** Holds clients' bytes from now on. */
  keep(): void;
  keptBytes(): number;
  /** Delivers the held bytes, and stops holding. */
  deliver(): void;
}

export async function startLateRelay(port: number): Promise<LateRelay> {
  let isKeeping = false;
  let kept: { bytes: number; deliver: () => void }[] = [];
  const relay = await startTcpRelay({
    target: () => ({ host: "127.0.0.1", port }),
    isLoose: true,
    carry(client, upstream) {
      client.on("data", (chunk) => {
        if (isKeeping) kept.push({ bytes: chunk.length, deliver: () => void upstream.write(chunk) });
        else upstream.write(chunk);
      });
      upstream.on("data", (chunk) => void client.write(chunk));
    },
  });
  return {
    ...relay,
    keep() {
      isKeeping = true;
    },
    keptBytes: () => kept.reduce((sum, { bytes }) => sum + bytes, 0),
    deliver() {
      isKeeping = false;
      for (const { deliver } of kept) deliver();
      kept = [];
    },
  };
}
