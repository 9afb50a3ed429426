/** A network that keeps what clients send, and delivers it when they have long gone. */
import { startTcpRelay, type TcpRelay } from "./tcp-relay.ts";

export interface LateRelay extends TcpRelay {
  /** Keeps from now on what clients send. */
  keep(): void;
  keptBytes(): number;
  /** Delivers what was kept, and no longer keeps anything. */
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
