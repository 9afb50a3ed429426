/**
 * The HTTP server under the API and the agents' endpoint: limits for each client, trusted proxies, TLS and shutdown.
 * The handler decides what a request means.
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
import { Readable } from "node:stream";
import { createOpenRequests } from "#front/open-requests.ts";
import { createPartsWriter, type PartsWriter } from "#front/parts-writer.ts";
import { waitAtMost } from "#lib/clock.ts";
import type { Log } from "#lib/log.ts";
import { measure, showing } from "#lib/measure/measure.ts";
import { clientAddress, type ProxySettings, readProxyHeaders } from "#lib/net/behind-proxies.ts";
import { acceptBacklogMax, type SourceShares, sourceSharesDefault } from "#lib/net/connection-limits.ts";
import { guardServer } from "#lib/net/guarded-server.ts";
import { secureOptions, type TlsPair } from "#lib/net/tls-pair.ts";

/** How often Node checks for late requests. */
const timeoutCheckMs = 1_000;
/** As many as a source may have direct connections. */
export const sourceRequestsMaxDefault = 256;
/** How long the server reads what a client still sends after a refusal: an immediate close would lose the refusal. */
const lingerMs = 1_000;

/** Reason phrases that the API promises; the others are Node's. */
const reasonPhrases: Record<number, string> = { 429: "Too many requests, retry later." };

/** Where a server listens, and what it allows its clients. */
export interface FrontOptions {
  host: string;
  /** 0 takes any free port. */
  port: number;
  /** Without it, the server speaks plain HTTP. */
  tls?: TlsPair | undefined;
  /** The proxies whose statement about a client is trusted. Without it, no proxy is trusted. */
  proxies?: ProxySettings | undefined;
  /** How many requests of one source proxies may bring at once. Default 256. */
  sourceRequestsMax?: number | undefined;
  connectionsMax?: number | undefined;
  shares?: SourceShares | undefined;
  /** Other threads listen on the same port, and the kernel shares new connections out. */
  sharesPort?: boolean | undefined;
}

/** Why a request is refused before it is read: the server is busy, or the parser rejects it. */
export type FrontRefusal = "busy" | "not-http" | "headers-too-large" | "timeout";

export interface HttpRequest {
  message: IncomingMessage;
  sourceAddress: string;
  /** Whether it comes from a trusted proxy, so that its headers about the request may be believed. */
  isFromProxy: boolean;
  /**
   * Fires when a wait must end: the client has disconnected, or the server drains and answers with what is known. Created on
   * demand: most requests never wait, and it costs 3 µs.
   */
  signal(): AbortSignal;
}

export interface HttpAnswer {
  status: number;
  headers?: Readonly<Record<string, string>>;
  /** Or its parts, which `PartsWriter` writes. */
  body?: Buffer | string | Readable | undefined;
  /** Closes the connection after this answer. */
  isLast?: boolean;
}

export interface HttpServerOptions extends FrontOptions {
  /** Which kind of client uses this server; a label of its metrics. */
  door: "resellers" | "agents";
  log: Log;
  connectionsMax: number;
  /** The time from a request's first byte to its last. */
  requestTimeoutMs: number;
  /** More settings of Node's server. */
  settings?: Pick<ServerOptions, "maxHeaderSize" | "keepAliveTimeout">;
  /** Answers a request whose body has not been read yet. Never throws. */
  answer(request: HttpRequest): Promise<HttpAnswer>;
  refuse(reason: FrontRefusal, sourceAddress: string): HttpAnswer;
  /** Whether a request from a proxy is not counted for its source. */
  isExempt?(message: IncomingMessage): boolean;
  /** Whether closing cuts requests in progress. By default it waits for them. */
  cutsAtClose?: boolean;
}

export interface HttpServer {
  port: number;
  /** Serves another certificate to new connections. */
  useCertificate(tls: TlsPair): void;
  /** The requests in progress, those whose answers are being sent included. */
  inProgress(): number;
  /** From now on nothing waits, and each answer closes its connection; new connections are still accepted. */
  drain(): void;
  /**
   * Drains, stops accepting, waits for the answers to the requests in progress, or cuts them if the server always does, and closes.
   * @param graceMs after it, what is still in progress is cut. By default answers in parts are cut at once, and others never
   * @returns how many requests were cut after it
   */
  close(graceMs?: number): Promise<number>;
}

/** @throws when the address cannot be listened on */
export async function startHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  const { proxies, tls, isExempt = () => false, refuse } = options;
  /** Sockets with an unanswered request; aborted when no client waits for an answer any more. */
  const answering = new WeakMap<Socket, { message: IncomingMessage; gone: AbortController }>();
  const server = createNodeServer(options);
  const openRequests = createOpenRequests(options.sourceRequestsMax ?? sourceRequestsMaxDefault);
  const partsWriter = createPartsWriter();
  const draining = new AbortController();
  const inProgress = new Set<ServerResponse>();

  const refuseSocket = (reason: FrontRefusal, socket: Socket) => {
    // The client would take this answer for the answer to an earlier, complete request that is still in progress.
    if (answering.get(socket)?.message.complete) socket.destroy();
    else writeRaw(socket, refuse(reason, socket.remoteAddress ?? ""));
  };
  const limits = guardServer(server, {
    ...(options.shares ?? sourceSharesDefault),
    connectionsMax: options.connectionsMax,
    isTrusted: proxies?.trusted.isTrusted,
    // Below TLS, nothing readable can be sent.
    endHalfOpen: tls ? undefined : (socket) => refuseSocket("timeout", socket),
    // The client may still read its answer, but does not wait for a change any more.
    ended: (socket) => answering.get(socket)?.gone.abort(),
  });
  // The connections of proxies belong to no single client and have no cap, so the requests on them are capped for each source. A
  // request counts from the end of its headers on; otherwise bodies that never end would hold all connections.
  const mayWork = ({ message, sourceAddress, isFromProxy }: Omit<HttpRequest, "signal">, response: ServerResponse) =>
    !isFromProxy || isExempt(message) || openRequests.take(sourceAddress, response);

  async function serve(message: IncomingMessage, response: ServerResponse): Promise<void> {
    const { socket } = message;
    const sourceAddress = clientAddress(proxies, message);
    const isFromProxy = proxies?.trusted.isTrusted(socket.remoteAddress ?? "") ?? false;
    const request = { message, sourceAddress, isFromProxy };
    if (limits.isRefused(socket) || !mayWork(request, response)) {
      return write(response, refuseBusy(options, sourceAddress), partsWriter);
    }
    const gone = new AbortController();
    answering.set(socket, { message, gone });
    inProgress.add(response);
    response.once("close", () => {
      endRequest(server, inProgress, response);
      // The connection's next request may have begun already.
      if (answering.get(socket)?.gone === gone) answering.delete(socket);
      // Every response ends here. An abort costs 7 µs, and has no listeners after a complete answer.
      if (!response.writableFinished) gone.abort();
    });
    const signal = () => AbortSignal.any([gone.signal, draining.signal]);
    const answer = await options.answer({ ...request, signal });
    write(response, draining.signal.aborted ? { ...answer, isLast: true } : answer, partsWriter);
  }

  answerRequests(server, options.log, serve);
  server.on("clientError", (error, socket) => refuseSocket(reasonOf(error), socket as Socket));
  answerOddRequests(server, (socket) => refuseSocket("not-http", socket));
  const cutWaiting = proxies?.proxyProtocol ? readProxyHeaders(server, proxies) : undefined;
  await listen(server, options);
  showRequests(server, options.door, inProgress);
  return {
    port: (server.address() as AddressInfo).port,
    useCertificate: (pair) => (server as SecureServer).setSecureContext(secureOptions(pair)),
    inProgress: () => inProgress.size,
    drain: () => draining.abort(),
    close(graceMs) {
      draining.abort();
      cutWaiting?.();
      return closeServer(server, { graceMs, cutsAtOnce: options.cutsAtClose ?? false, partsWriter, inProgress });
    },
  };
}

/** Not a listener of its own: Node warns from the eleventh on, and an answer in parts behind a proxy has ten. */
function endRequest(server: Server, inProgress: Set<ServerResponse>, response: ServerResponse): void {
  inProgress.delete(response);
  // Its headers may have been sent before anybody knew that it is the connection's last answer.
  if (!server.listening) response.req.socket.end();
}

function refuseBusy({ refuse }: HttpServerOptions, sourceAddress: string): HttpAnswer {
  measure("http_refusals_total", { reason: "busy" });
  return { ...refuse("busy", sourceAddress), isLast: true };
}

/** Shows how busy a server is, until it is closed. */
function showRequests(server: Server, door: HttpServerOptions["door"], inProgress: ReadonlySet<ServerResponse>): void {
  let connections = 0;
  server.on("connection", (socket) => {
    connections += 1;
    socket.once("close", () => {
      connections -= 1;
    });
  });
  const ends = [
    showing("http_connections", () => [[{ door }, connections]]),
    showing("http_requests_in_progress", () => [[{ door }, inProgress.size]]),
  ];
  server.once("close", () => {
    for (const end of ends) end();
  });
}

interface Closing {
  graceMs: number | undefined;
  cutsAtOnce: boolean;
  partsWriter: PartsWriter;
  inProgress: ReadonlySet<ServerResponse>;
}

/** @returns how many requests were in progress when the time was over */
async function closeServer(server: Server, { graceMs, cutsAtOnce, partsWriter, inProgress }: Closing): Promise<number> {
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  server.close(() => resolve());
  if (cutsAtOnce) server.closeAllConnections();
  if (graceMs === undefined) {
    partsWriter.cutAll();
    await closed;
    return 0;
  }
  await waitAtMost(graceMs, closed);
  const cut = inProgress.size;
  partsWriter.cutAll();
  server.closeAllConnections();
  await closed;
  return cut;
}

function createNodeServer({ tls, requestTimeoutMs, settings }: HttpServerOptions): Server {
  const own: ServerOptions = {
    ...settings,
    requestTimeout: requestTimeoutMs,
    // Node swaps the two times when this one is longer (60 s by default).
    headersTimeout: requestTimeoutMs,
    connectionsCheckingInterval: timeoutCheckMs,
    // Otherwise Node itself would answer a request without a Host header.
    requireHostHeader: false,
  };
  return tls ? createSecureServer({ ...own, ...secureOptions(tls) }) : createServer(own);
}

function listen(server: Server, { host, port, sharesPort: reusePort = false }: FrontOptions): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject);
  server.listen({ host, port, backlog: acceptBacklogMax, reusePort }, () => {
    server.off("error", reject);
    resolve();
  });
  return promise;
}

function reasonOf({ code }: NodeJS.ErrnoException): FrontRefusal {
  if (code === "HPE_HEADER_OVERFLOW") return "headers-too-large";
  return code === "ERR_HTTP_REQUEST_TIMEOUT" ? "timeout" : "not-http";
}

/** One request must not end the process, whatever fails in it. */
function answerRequests(
  server: Server,
  log: Log,
  serve: (message: IncomingMessage, response: ServerResponse) => Promise<void>,
): void {
  server.on("request", (message, response) => {
    serve(message, response).catch((error: unknown) => {
      log.error({ err: error }, "a request could not be answered");
      response.destroy();
    });
  });
}

/** Node would answer these itself, in another form or not at all. */
function answerOddRequests(server: Server, refuseSocket: (socket: Socket) => void): void {
  // An expectation other than 100-continue may be ignored (RFC 9110 section 10.1.1).
  server.on("checkExpectation", (request, response) => server.emit("request", request, response));
  server.on("connect", (_request, socket) => {
    // Node has removed its listener, and an error without a listener ends the process.
    socket.on("error", () => socket.destroy());
    refuseSocket(socket as Socket);
  });
}

function write(response: ServerResponse, answer: HttpAnswer, partsWriter: PartsWriter): void {
  const { status, body } = answer;
  response.writeHead(status, phraseOf(status), headersOf(answer));
  if (body instanceof Readable) partsWriter.write(response, body);
  else response.end(body);
}

/** Writes a whole response to a socket that has no request, and closes it. */
function writeRaw(socket: Socket, answer: HttpAnswer): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const lines = Object.entries(headersOf({ ...answer, isLast: true })).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${answer.status} ${phraseOf(answer.status)}\r\n${lines.join("")}\r\n${answer.body ?? ""}`);
  setTimeout(() => socket.destroy(), lingerMs).unref();
}

const phraseOf = (status: number) => reasonPhrases[status] ?? STATUS_CODES[status] ?? "";

function headersOf({ status, headers, body = "", isLast }: HttpAnswer): Record<string, string> {
  return {
    ...headers,
    // RFC 9110 section 8.6: a 204 has no content-length, and that of a 304 isn't the length of the body it sends.
    ...(![204, 304].includes(status) &&
      !(body instanceof Readable) && { "content-length": String(Buffer.byteLength(body)) }),
    ...(isLast && { connection: "close" }),
  };
}
