/** Stands in front of a TCP port: can take it away, give it back, and lead to another one. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

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
  const sockets = new Set<Socket>();
  let isCut = false;
  let lastText: string | undefined;
  let currentTarget = target;
  const cutAll = () => {
    for (const socket of sockets) socket.resetAndDestroy();
  };
  const cut = () => {
    isCut = true;
    cutAll();
  };
  const server = createServer((client) => {
    if (isCut) return void client.resetAndDestroy();
    const upstream = connect(currentTarget, "127.0.0.1");
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        sockets.delete(socket);
        other.destroy();
      });
    }
    let isDeaf = false;
    client.on("data", (chunk) => {
      isDeaf ||= lastText !== undefined && chunk.toString("latin1").startsWith(lastText);
      upstream.write(chunk);
    });
    upstream.on("data", (chunk) => {
      if (isDeaf) cut();
      else client.write(chunk);
    });
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return {
    port: (server.address() as AddressInfo).port,
    cut,
    cutAfter(text) {
      lastText = text;
    },
    join(newTarget = currentTarget) {
      isCut = false;
      lastText = undefined;
      currentTarget = newTarget;
    },
    async close() {
      cutAll();
      server.close();
      await once(server, "close");
    },
  };
}
