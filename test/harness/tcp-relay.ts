/**
 * A TCP port in front of another one: each connection is paired with its own upstream connection, and all can be cut.
 */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export interface TcpRelay {
  readonly port: number;
  /** Resets all connections, and new ones until `join`. */
  cut(): void;
  join(): void;
  close(): Promise<void>;
}

export interface TcpRelayOptions {
  /** The target of the next connection. */
  target: () => { host: string; port: number };
  /** Transmits the bytes of one pair; both sides are closed together, unless `isLoose`. */
  carry: (client: Socket, upstream: Socket) => void;
  /** A client's bytes may still arrive after it has gone. */
  isLoose?: boolean;
}

export async function startTcpRelay({ target, carry, isLoose = false }: TcpRelayOptions): Promise<TcpRelay> {
  const sockets = new Set<Socket>();
  let isCut = false;
  const server = createServer((client) => {
    if (isCut) return void client.resetAndDestroy();
    const upstream = connect(target());
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        sockets.delete(socket);
        if (!isLoose) other.destroy();
      });
    }
    carry(client, upstream);
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
    join() {
      isCut = false;
    },
    async close() {
      cutAll();
      server.close();
      await once(server, "close");
    },
  };
}
