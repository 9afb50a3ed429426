import type { Server, Socket } from "node:net";
import { sourceOf } from "#lib/net/source-address.ts";

/** How the connections of a listener are shared among their sources. */
export interface SourceShares {
  /** Open connections of one source: an IPv4 address, or a /64 of IPv6. */
  sourceConnectionsMax: number;
  /** Connections whose client has not finished its opening yet (handshake, first request, login). */
  sourceHalfOpenMax: number;
  /** How long an opening may take. */
  halfOpenMs: number;
  /** The percentage of all connections that is reserved for sources with few connections. */
  reservedPercent: number;
  /** A source with fewer connections than this has few. */
  fewConnectionsMax: number;
}

export const sourceSharesDefault: SourceShares = {
  sourceConnectionsMax: 256,
  sourceHalfOpenMax: 32,
  halfOpenMs: 5_000,
  reservedPercent: 20,
  fewConnectionsMax: 8,
};

export interface ConnectionLimitsOptions extends SourceShares {
  /** Open connections in all. */
  connectionsMax: number;
  /** A peer that brings many clients, such as our proxy: only `connectionsMax` applies to it. */
  isTrusted?: ((address: string) => boolean) | undefined;
  /** Ends a connection whose opening took too long; by default it is cut. */
  endHalfOpen?: ((socket: Socket) => void) | undefined;
}

/**
 * What happens to a new connection: it is served; or it is over the limit and may get a short refusal; or too many were
 * refused already, and it is cut.
 */
export type Admission = "served" | "refused" | "cut";

interface Source {
  served: number;
  refused: number;
  /** The oldest first. */
  halfOpen: Set<Connection>;
}

interface Connection {
  socket: Socket;
  source: Source;
  isServed: boolean;
  /** How many checks it has outlasted while half-open. */
  looks: number;
}

/**
 * Checks of half-open connections within `halfOpenMs`. Age is counted in checks, so that a process that hung does not cut
 * connections that were only waiting for it.
 */
const halfOpenLooks = 5;
/** Refused connections of all sources that are not closed yet. */
const refusedConnectionsMax = 1_000;

/** The kernel's limit: beyond it, the kernel does not answer a new client, which retries after a second. */
export const acceptBacklogMax = 2_048;

/** Shares the connections of one listener among their sources, so that no source takes them all. */
export class ConnectionLimits {
  readonly #options: ConnectionLimitsOptions;
  readonly #sources = new Map<string, Source>();
  /** By peer, because a TLS socket is a different object from the socket below it. */
  readonly #connections = new Map<string, Connection>();
  #servedCount = 0;
  #halfOpenCount = 0;
  #looking: NodeJS.Timeout | undefined;

  constructor(options: ConnectionLimitsOptions) {
    this.#options = options;
  }

  /** Passes only connections that are not cut on to the server. Call it after the server's listeners are in place. */
  guard(server: Server): void {
    // Node closes connections beyond this number silently.
    server.maxConnections = this.#options.connectionsMax + refusedConnectionsMax;
    const listeners = server.listeners("connection");
    server.removeAllListeners("connection");
    server.on("connection", (socket: Socket) => {
      if (this.add(socket) === "cut") return;
      for (const listener of listeners) listener.call(server, socket);
    });
  }

  /** Counts a connection from its start until it closes. It is half-open until `opened`. */
  add(socket: Socket): Admission {
    const peer = peerOf(socket);
    const address = socket.remoteAddress;
    if (peer === undefined || address === undefined) return cut(socket);
    const isTrusted = this.#options.isTrusted?.(address) ?? false;
    const name = isTrusted ? address : sourceOf(address);
    const source = this.#sources.get(name) ?? { served: 0, refused: 0, halfOpen: new Set() };
    const isServed = this.#hasPlaceFor(source, isTrusted);
    if (!isServed && this.#isTooManyToRefuse(source)) return cut(socket);

    const connection = { socket, source, isServed, looks: 0 };
    this.#sources.set(name, source);
    this.#connections.set(peer, connection);
    source[isServed ? "served" : "refused"] += 1;
    if (isServed) this.#servedCount += 1;
    if (!isServed || !isTrusted) this.#watch(connection);
    socket.once("close", () => {
      this.#unwatch(connection);
      if (this.#connections.get(peer) === connection) this.#connections.delete(peer);
      source[isServed ? "served" : "refused"] -= 1;
      if (isServed) this.#servedCount -= 1;
      if (source.served + source.refused === 0) this.#sources.delete(name);
    });
    return isServed ? "served" : "refused";
  }

  /** Ends a client's opening. A refused connection stays half-open, because it must end soon. */
  opened(socket: Socket): void {
    const connection = this.#find(socket);
    if (connection?.isServed) this.#unwatch(connection);
  }

  /** Whether the connection is over the limit. */
  isRefused(socket: Socket): boolean {
    const areAllServed = this.#connections.size === this.#servedCount;
    return !areAllServed && this.#find(socket)?.isServed === false;
  }

  #find(socket: Socket): Connection | undefined {
    const peer = peerOf(socket);
    return peer === undefined ? undefined : this.#connections.get(peer);
  }

  #hasPlaceFor({ served }: Source, isTrusted: boolean): boolean {
    const { connectionsMax, sourceConnectionsMax, reservedPercent, fewConnectionsMax } = this.#options;
    if (this.#servedCount >= connectionsMax) return false;
    if (isTrusted) return true;
    if (served >= sourceConnectionsMax) return false;
    const reserved = Math.floor((connectionsMax * reservedPercent) / 100);
    return served < fewConnectionsMax || this.#servedCount < connectionsMax - reserved;
  }

  #isTooManyToRefuse({ refused }: Source): boolean {
    const refusedCount = this.#connections.size - this.#servedCount;
    return refused >= this.#options.sourceHalfOpenMax || refusedCount >= refusedConnectionsMax;
  }

  #watch(connection: Connection): void {
    connection.source.halfOpen.add(connection);
    this.#halfOpenCount += 1;
    this.#looking ??= setInterval(() => this.#look(), this.#options.halfOpenMs / halfOpenLooks).unref();
  }

  #unwatch(connection: Connection): void {
    if (!connection.source.halfOpen.delete(connection)) return;
    this.#halfOpenCount -= 1;
    if (this.#halfOpenCount > 0) return;
    clearInterval(this.#looking);
    this.#looking = undefined;
  }

  /**
   * Ends connections that have been half-open for too long. The excess connections of one source are ended only after
   * they have lasted from one check to the next: a client that opens a hundred connections at once sends its requests
   * right after, and TLS takes several round trips.
   */
  #look(): void {
    const { sourceHalfOpenMax, endHalfOpen = cut } = this.#options;
    for (const { halfOpen } of [...this.#sources.values()]) {
      let surplus = halfOpen.size - sourceHalfOpenMax;
      for (const connection of [...halfOpen]) {
        connection.looks += 1;
        if (connection.looks <= (surplus > 0 ? 1 : halfOpenLooks)) continue;
        surplus -= 1;
        this.#unwatch(connection);
        endHalfOpen(connection.socket);
      }
    }
  }
}

function cut(socket: Socket): "cut" {
  socket.destroy();
  return "cut";
}

/** Unique among the open connections of one listener; undefined when the connection is gone. */
function peerOf({ remoteAddress, remotePort }: Socket): string | undefined {
  return remoteAddress === undefined ? undefined : `${remoteAddress} ${remotePort}`;
}
