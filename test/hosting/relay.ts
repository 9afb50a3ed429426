/** Stands in front of a TCP port: can take it away, give it back, and lead to another one. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export interface Relay {
  readonly port: number;
  /** Cuts all connections and refuses new ones. */
  cut(): void;
  /** Connections are taken again; they lead to `target`, when it is given. */
  join(target?: number): void;
  close(): Promise<void>;
}

/** @param target a port of 127.0.0.1 */
export async function startRelay(target: number): Promise<Relay> {
  const sockets = new Set<Socket>();
  let isCut = false;
  let currentTarget = target;
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
      socket.pipe(other);
    }
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const cutAll = () => {
    for (const socket of sockets) socket.resetAndDestroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    cut() {
      isCut = true;
      cutAll();
    },
    join(newTarget = currentTarget) {
      isCut = false;
      currentTarget = newTarget;
    },
    async close() {
      cutAll();
      server.close();
      await once(server, "close");
    },
  };
}
