/** The origin of requests that come through proxies: by the PROXY protocol, by a header, or by both in a chain. */
import { AsyncLocalStorage } from "node:async_hooks";
import type { IncomingMessage } from "node:http";
import type { Server, Socket } from "node:net";
import { type ForwardedHeader, forwardedAddress } from "#lib/net/forwarded-address.ts";
import { plainAddress } from "#lib/net/plain-address.ts";
import { takeProxyHeader } from "#lib/net/proxy-protocol.ts";
import type { TrustedProxies } from "#lib/net/trusted-proxies.ts";

/** A proxy sends the header with its connection's first packet. */
const headerMsDefault = 5_000;

export interface ProxySettings {
  trusted: TrustedProxies;
  /** The only header that is trusted; undefined trusts none. */
  header?: ForwardedHeader | undefined;
  /** Trusted peers begin each connection with a PROXY header. */
  proxyProtocol: boolean;
  /** The time limit for that header. Default 5 s. */
  proxyHeaderMs?: number;
}

/** The client's address: the socket's peer, or the client that a trusted peer speaks for. */
export function clientAddress(proxies: ProxySettings | undefined, { socket, headers }: IncomingMessage): string {
  const peer = plainAddress(socket.remoteAddress);
  if (proxies?.header === undefined) return peer;
  const lines = headers[proxies.header];
  // Node joins the lines of a field by commas.
  return forwardedAddress(proxies.trusted, proxies.header, peer, typeof lines === "string" ? lines : undefined);
}

/** A TLS socket gives no access to the socket below it, but it is opened in that socket's async context. */
const namedAddress = new AsyncLocalStorage<string>();

/**
 * Takes the PROXY header off each connection of a trusted peer before anything else reads it, including TLS. From then
 * on `remoteAddress` is the client's, for connection counts and requests. A trusted peer that sends no header is cut.
 * From other peers no header is read, so theirs is garbage.
 * @param server everything else must already listen to its connections
 * @returns cuts the connections that still wait for their header
 */
export function readProxyHeaders(
  server: Server,
  { trusted, proxyHeaderMs = headerMsDefault }: ProxySettings,
): () => void {
  const closing = new AbortController();
  const listeners = server.listeners("connection");
  server.removeAllListeners("connection");
  const pass = (socket: Socket) => {
    for (const listener of listeners) listener.call(server, socket);
  };
  server.on("connection", (socket: Socket) => {
    if (!trusted.isTrusted(socket.remoteAddress ?? "")) return pass(socket);
    const signal = AbortSignal.any([closing.signal, AbortSignal.timeout(proxyHeaderMs)]);
    takeProxyHeader(socket, signal)
      .then((address) => {
        if (address === undefined) return pass(socket);
        nameAddress(socket, address);
        namedAddress.run(address, pass, socket);
      })
      .catch(() => socket.destroy());
  });
  server.prependListener("secureConnection", (socket: Socket) => {
    const address = namedAddress.getStore();
    if (address !== undefined) nameAddress(socket, address);
  });
  return () => closing.abort();
}

function nameAddress(socket: Socket, address: string): void {
  Object.defineProperty(socket, "remoteAddress", { value: address });
}
