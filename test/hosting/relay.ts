/** Stands in front of a TCP port: can take it away, give it back, and lead to another one. */
import { startTcpRelay } from "../harness/tcp-relay.ts";

export interface Relay {
  readonly port: number;
  /** Cuts all connections and refuses new ones. */
  cut(): void;
  /** Lets a chunk that begins with this text through, and cuts before an answer comes back. */
  cutAfter(text: string): void;
  /** Connections are taken again; they lead to `target`, when it is given. */
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
        isDeaf ||= lastText !== undefined && chunk.toString("latin1").startsWith(lastText);
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
