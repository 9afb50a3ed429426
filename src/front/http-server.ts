/**
 * The HTTP server under the API and the agents' endpoint: what one client may take of it, whom proxies speak for, TLS, and
 * the end. What a request means is its handler's business.
 */
import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerOptions,
  type ServerResponse,
  STATUS_CODES,
} from "node:http";
import { createServer as createSecureServer, type Server as SecureServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { createRequestsAtWork } from "#front/requests-at-work.ts";
import { clientAddress, type ProxySettings, readProxyHeaders } from "#lib/net/behind-proxies.ts";
import { acceptBacklogMax, type SourceShares, sourceSharesDefault } from "#lib/net/connection-limits.ts";
import { guardServer } from "#lib/net/guarded-server.ts";
import { secureOptions, type TlsPair } from "#lib/net/tls-pair.ts";

/** Node looks for requests that are late only this often. */
const timeoutCheckMs = 1_000;
/** As many as a source may have connections of its own. */
const sourceRequestsMaxDefault = 256;
/** What a client still sends after a refusal is read so long: closing at once would take the refusal away from it. */
const lingerMs = 1_000;

/** Reason phrases that are promised; the others are Node's. */
const reasonPhrases: Record<number, string> = { 429: "Too many requests, retry later." };

/** Where a server listens, and what its clients may take of it. */
export interface FrontOptions {
  host: string;
  /** 0 for any free one. */
  port: number;
  /** Without it, plain HTTP. */
  tls?: TlsPair | undefined;
  /** Whose clients are whose, when requests come through proxies. Without it, nobody is believed. */
  proxies?: ProxySettings | undefined;
  /** Requests of one source that proxies may bring at once. Default 256. */
  sourceRequestsMax?: number | undefined;
  connectionsMax?: number | undefined;
  shares?: SourceShares | undefined;
}

/** Why a request is not looked at: there are too many, or the parser does not take it. */
export type FrontRefusal = "busy" | "not-http" | "headers-too-large" | "timeout";

export interface HttpRequest {
  message: IncomingMessage;
  sourceAddress: string;
  /** Fires when nobody waits for the answer any more. Made when asked for: most requests never wait, and it costs 3 µs. */
  signal(): AbortSignal;
}

export interface HttpAnswer {
  status: number;
  headers?: Readonly<Record<string, string>>;
  body?: Buffer | string | undefined;
  /** The connection ends with this answer. */
  isLast?: boolean;
}

export interface HttpServerOptions extends FrontOptions {
  connectionsMax: number;
  /** From a request's first byte to its last. */
  requestTimeoutMs: number;
  /** Further settings of Node's server. */
  settings?: Pick<ServerOptions, "maxHeaderSize" | "keepAliveTimeout">;
  /** Answers a request, whose body is not read yet. Never throws. */
  answer(request: HttpRequest): Promise<HttpAnswer>;
  refuse(reason: FrontRefusal, sourceAddress: string): HttpAnswer;
  /** Whether a request that a proxy brings does not count as one of its source. */
  isExempt?(message: IncomingMessage): boolean;
  /** Whether closing cuts the requests under way, which it waits for by default. */
  cutsAtClose?: boolean;
}

export interface HttpServer {
  port: number;
  /** Serves another certificate to new connections. */
  useCertificate(tls: TlsPair): void;
  /** Stops accepting, lets requests end or cuts them, closes. */
  close(): Promise<void>;
}

/** @throws when the address cannot be listened on */
export async function startHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  const { proxies, tls, isExempt = () => false, refuse } = options;
  /** Sockets with a request that has no answer yet; aborted when nobody waits for one any more. */
  const answering = new WeakMap<Socket, { message: IncomingMessage; gone: AbortController }>();
  const server = createNodeServer(options);
  const atWork = createRequestsAtWork(options.sourceRequestsMax ?? sourceRequestsMaxDefault);
  let isClosing = false;

  const refuseSocket = (reason: FrontRefusal, socket: Socket) => {
    // An answer of ours would be taken for the one that a request before this one, which came whole, still waits for.
    if (answering.get(socket)?.message.complete) socket.destroy();
    else writeRaw(socket, refuse(reason, socket.remoteAddress ?? ""));
  };
  const limits = guardServer(server, {
    ...(options.shares ?? sourceSharesDefault),
    connectionsMax: options.connectionsMax,
    isTrusted: proxies?.trusted.isTrusted,
    // What lies beneath TLS is no place for words.
    endHalfOpen: tls ? undefined : (socket) => refuseSocket("timeout", socket),
    // It may still read its answer, but does not wait for something to happen.
    ended: (socket) => answering.get(socket)?.gone.abort(),
  });
  /**
   * The connections of proxies are nobody's in particular and have no cap, so the requests on them have one for each
   * source: from the end of their headers, or bodies that never end would hold all connections.
   */
  const mayWork = (message: IncomingMessage, sourceAddress: string, response: ServerResponse) =>
    !proxies?.trusted.isTrusted(message.socket.remoteAddress ?? "") ||
    isExempt(message) ||
    atWork.take(sourceAddress, response);

  async function serve(message: IncomingMessage, response: ServerResponse): Promise<void> {
    const { socket } = message;
    const sourceAddress = clientAddress(proxies, message);
    if (limits.isRefused(socket) || !mayWork(message, sourceAddress, response)) {
      return write(response, { ...refuse("busy", sourceAddress), isLast: true });
    }
    const gone = new AbortController();
    answering.set(socket, { message, gone });
    response.once("close", () => {
      // The next request of the connection may have begun already.
      if (answering.get(socket)?.gone === gone) answering.delete(socket);
      // Every answer ends here; an abort costs 7 µs, and after a whole answer nobody is left to hear it.
      if (!response.writableFinished) gone.abort();
    });
    const answer = await options.answer({ message, sourceAddress, signal: () => gone.signal });
    write(response, isClosing ? { ...answer, isLast: true } : answer);
  }

  server.on("request", (message, response) => void serve(message, response));
  server.on("clientError", (error, socket) => refuseSocket(reasonOf(error), socket as Socket));
  answerOddRequests(server, (socket) => refuseSocket("not-http", socket));
  const cutWaiting = proxies?.proxyProtocol ? readProxyHeaders(server, proxies) : undefined;
  await listen(server, options);
  return {
    port: (server.address() as AddressInfo).port,
    useCertificate: (pair) => (server as SecureServer).setSecureContext(secureOptions(pair)),
    close() {
      isClosing = true;
      cutWaiting?.();
      const { promise, resolve } = Promise.withResolvers<void>();
      server.close(() => resolve());
      if (options.cutsAtClose) server.closeAllConnections();
      return promise;
    },
  };
}

function createNodeServer({ tls, requestTimeoutMs, settings }: HttpServerOptions): Server {
  const own: ServerOptions = {
    ...settings,
    requestTimeout: requestTimeoutMs,
    // Node swaps the two times when this one is the longer (60 s by default).
    headersTimeout: requestTimeoutMs,
    connectionsCheckingInterval: timeoutCheckMs,
    // A request without a Host header would get an answer of Node's own form.
    requireHostHeader: false,
  };
  return tls ? createSecureServer({ ...own, ...secureOptions(tls) }) : createServer(own);
}

function listen(server: Server, { host, port }: FrontOptions): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject);
  server.listen({ host, port, backlog: acceptBacklogMax }, () => {
    server.off("error", reject);
    resolve();
  });
  return promise;
}

function reasonOf({ code }: NodeJS.ErrnoException): FrontRefusal {
  if (code === "HPE_HEADER_OVERFLOW") return "headers-too-large";
  return code === "ERR_HTTP_REQUEST_TIMEOUT" ? "timeout" : "not-http";
}

/** Node would answer these by itself, in a form of its own, or not at all. */
function answerOddRequests(server: Server, refuseSocket: (socket: Socket) => void): void {
  // An expectation other than 100-continue may be ignored (RFC 9110 section 10.1.1).
  server.on("checkExpectation", (request, response) => server.emit("request", request, response));
  server.on("connect", (_request, socket) => {
    // Node has taken its own listener away, and an error without one ends the process.
    socket.on("error", () => socket.destroy());
    refuseSocket(socket as Socket);
  });
}

function write(response: ServerResponse, answer: HttpAnswer): void {
  response.writeHead(answer.status, phraseOf(answer.status), headersOf(answer)).end(answer.body);
}

/** Writes a whole response to a socket for which there is no request, and closes it. */
function writeRaw(socket: Socket, answer: HttpAnswer): void {
  if (!socket.writable) return void socket.destroy();
  const lines = Object.entries(headersOf({ ...answer, isLast: true })).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${answer.status} ${phraseOf(answer.status)}\r\n${lines.join("")}\r\n${answer.body ?? ""}`);
  setTimeout(() => socket.destroy(), lingerMs).unref();
}

const phraseOf = (status: number) => reasonPhrases[status] ?? STATUS_CODES[status] ?? "";

function headersOf({ status, headers, body = "", isLast }: HttpAnswer): Record<string, string> {
  return {
    ...headers,
    // RFC 9110 section 8.6: a 204 has none.
    ...(status !== 204 && { "content-length": String(Buffer.byteLength(body)) }),
    ...(isLast && { connection: "close" }),
  };
}
