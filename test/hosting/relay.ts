/** A relay in front of a TCP port: it can cut connections, restore them, and lead to another port. */
import { startTcpRelay } from "../harness/tcp-relay.ts";

export interface Relay {
  readonly port: number;
  /** Cuts all connections and refuses new ones. */
  cut(): void;
  /** Forwards a chunk that contains this text, and cuts before an answer returns. */
  cutAfter(text: string): void;
  /** Accepts connections again; with `target`, they lead there. */
  join(target?: number): void;
  close(): Promise<void>;
}

/** @param target a port of 127.0.0.1 */
export async function startRelay(target: number): Promise<Relay> {
  let lastText: string | undefined;
  let port = target;
  const relay = await startTcpRelay({
    target: () => ({ host: "127.0.0.1", port }),
    carry(client, upstream) {
      let isDeaf = false;
      client.on("data", (chunk) => {
        isDeaf ||= lastText !== undefined && chunk.includes(lastText);
        upstream.write(chunk);
      });
      upstream.on("data", (chunk) => {
        if (isDeaf) relay.cut();
        else client.write(chunk);
      });
    },
  });
  return {
    port: relay.port,
    cut: relay.cut,
    cutAfter(text) {
      lastText = text;
    },
    join(newTarget = port) {
      lastText = undefined;
      port = newTarget;
      relay.join();
    },
    close: relay.close,
  };
}
