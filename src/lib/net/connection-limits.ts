import type { Server, Socket } from "node:net";
import { sourceOf } from "#lib/net/source-address.ts";

/** How the places of a listener are shared among the sources of its connections. */
export interface SourceShares {
  /** Open connections of one source: an IPv4 address, or a /64 of IPv6. */
  sourceConnectionsMax: number;
  /** Of them, those whose client has not got through its opening yet (handshake, first request, log-in). */
  sourceHalfOpenMax: number;
  /** How long an opening may take. */
  halfOpenMs: number;
  /** Of all places, those that only a source with few connections may take. */
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
  /** A peer that brings many clients, such as a proxy of ours: only `connectionsMax` holds for it. */
  isTrusted?: ((address: string) => boolean) | undefined;
  /** Ends a connection whose opening took too long; by default it is cut. */
  endHalfOpen?: ((socket: Socket) => void) | undefined;
}

/**
 * What becomes of a new connection: it is served; or it is one too many, and may be told so in a few bytes; or there are
 * too many of those too, and it was cut.
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
  /** How many looks it has outlasted as a half-open one. */
  looks: number;
}

/** Looks at half-open connections within `halfOpenMs`. Age is counted in looks: a process that hung cuts nobody for it. */
const halfOpenLooks = 5;
/** Refused connections, of all sources, that are not closed yet. */
const refusedConnectionsMax = 1_000;

/** For the kernel: when more wait to be accepted, it says nothing to a new client, which tries again after a second. */
export const acceptBacklogMax = 2_048;

/** Shares the places of one listener among the sources of its connections, so that none takes them all. */
export class ConnectionLimits {
  readonly #options: ConnectionLimitsOptions;
  readonly #sources = new Map<string, Source>();
  /** By peer, since a TLS socket is another object than the one that it came on. */
  readonly #connections = new Map<string, Connection>();
  #servedCount = 0;
  #halfOpenCount = 0;
  #looking: NodeJS.Timeout | undefined;

  constructor(options: ConnectionLimitsOptions) {
    this.#options = options;
  }

  /** Lets a server see only what is not cut. Whatever else it does with new connections is in its listeners by now. */
  guard(server: Server): void {
    // Node closes those beyond without a word.
    server.maxConnections = this.#options.connectionsMax + refusedConnectionsMax;
    const listeners = server.listeners("connection");
    server.removeAllListeners("connection");
    server.on("connection", (socket: Socket) => {
      if (this.add(socket) === "cut") return;
      for (const listener of listeners) listener.call(server, socket);
    });
  }

  /** Counts a connection from its beginning until it closes. It is half-open until `opened`. */
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

  /** The client has got through its opening. A connection that was refused stays half-open: it has to end soon. */
  opened(socket: Socket): void {
    const connection = this.#find(socket);
    if (connection?.isServed) this.#unwatch(connection);
  }

  /** Whether it is one too many. */
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
   * Ends what is half-open for too long. Those that are too many of one source have the time between two looks, not none:
   * a client that opens a hundred connections at once sends its requests right after, and TLS takes it several trips.
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

/** Unique among the open connections of one listener; nothing when the connection is gone. */
function peerOf({ remoteAddress, remotePort }: Socket): string | undefined {
  return remoteAddress === undefined ? undefined : `${remoteAddress} ${remotePort}`;
}
