/** A TCP port in front of another one: each connection is paired with one of its own, and all can be cut. */
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
  /** Where the next connection leads. */
  target: () => { host: string; port: number };
  /** Carries the bytes of one pair; both are closed together, unless `isLoose`. */
  carry: (client: Socket, upstream: Socket) => void;
  /** What a client has sent may still arrive when it has gone. */
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
