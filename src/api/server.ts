/** The HTTP server of the API: sockets, sizes and times; what a request means is the edge's business. */
import { type IncomingMessage, STATUS_CODES } from "node:http";
import type { Server as HttpsServer } from "node:https";
import type { Socket } from "node:net";
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import { createEdge, type EdgeAnswer, type EdgeOptions } from "#api/edge.ts";
import { parseTarget } from "#api/signing/signature.ts";
import type { Context } from "#context.ts";
import { ApiError, type ErrorCode, unavailable } from "#errors.ts";
import { believeProxies } from "#front/proxied.ts";
import { unixSeconds } from "#lib/clock.ts";
import { clientAddress, type ProxySettings } from "#lib/net/behind-proxies.ts";
import { acceptBacklogMax, type SourceShares, sourceSharesDefault } from "#lib/net/connection-limits.ts";
import { guardServer } from "#lib/net/guarded-server.ts";
import { hasOneHost } from "#lib/net/host-lines.ts";
import { readBody } from "#lib/net/read-body.ts";
import { secureOptions, type TlsPair } from "#lib/net/tls-pair.ts";

const bodyBytesMax = 64 * 1024;
const headerBytesMax = 16 * 1024;
/** A signature is looked for in up to 16 spellings of the target; 8,000 octets are what RFC 9112 section 3 asks for. */
const targetBytesMax = 8_192;
const requestTimeoutMsDefault = 15_000;
/** Node looks for requests that are late only this often. */
const timeoutCheckMs = 1_000;
const keepAliveTimeoutMs = 65_000;
const requestIdDigits = 24;
const connectionsMaxDefault = 10_000;
const connectionRetrySeconds = 5;
/** What a client still sends after a refusal is read so long: closing at once would take the refusal away from it. */
const lingerMs = 1_000;

/** Reason phrases that are promised; the others are Node's. */
const reasonPhrases: Record<number, string> = { 429: "Too many requests, retry later." };

export interface ServerOptions extends EdgeOptions {
  host: string;
  /** 0 for any free one. */
  port: number;
  /** From a request's first byte to its last. Default 15 s. */
  requestTimeoutMs?: number;
  /** Default 10,000. */
  connectionsMax?: number;
  /** Without it, plain HTTP. */
  tls?: TlsPair | undefined;
  /** Whose clients are whose, when requests come through proxies. */
  proxies?: ProxySettings | undefined;
  /** Requests of one source that proxies may bring at once. Default 256. */
  sourceRequestsMax?: number;
  shares?: SourceShares;
}

export interface Server {
  port: number;
  /** Serves another certificate to new connections. */
  useCertificate(tls: TlsPair): void;
  /** Stops accepting, lets requests end, closes. */
  close(): Promise<void>;
}

/** @throws when the address cannot be listened on */
export async function startServer(context: Context, options: ServerOptions): Promise<Server> {
  const edge = createEdge(context, options);
  // Node draws the randomness of UUIDs ahead, for many at once: 0.9 µs each, and 3.2 µs for bytes of their own.
  const requestId = () => context.random.uuid().replaceAll("-", "").slice(0, requestIdDigits);
  const refuse = (error: ApiError, address = "") => edge.refuse(error, requestId(), address);
  const answering: Answering = new WeakMap();
  const { app, limits } = createApp(options, answering, refuse);
  const sourceOfRequest = ({ raw }: FastifyRequest) => clientAddress(options.proxies, raw);
  const refuseAndClose = (request: FastifyRequest, reply: FastifyReply, error: ApiError) =>
    write(reply.header("connection", "close"), refuse(error, sourceOfRequest(request)));
  const refuseBusy = (request: FastifyRequest, reply: FastifyReply) =>
    refuseAndClose(request, reply, unavailable(connectionRetrySeconds));

  async function handle(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { socket } = request;
    if (limits.isRefused(socket)) return refuseBusy(request, reply);
    const mistake = findMistake(request);
    if (mistake) return refuseAndClose(request, reply, mistake);
    const gone = new AbortController();
    answering.set(socket, gone);
    reply.raw.once("close", () => {
      // The next request of the connection may have begun already.
      if (answering.get(socket) === gone) answering.delete(socket);
      // Every answer ends here; an abort costs 7 µs, and after a whole answer nobody is left to hear it.
      if (!reply.raw.writableFinished) gone.abort();
    });
    const answer = await edge.answer({
      requestId: requestId(),
      method: request.method,
      target: parseTarget(request.originalUrl) ?? request.originalUrl,
      // Node joins the lines of a field itself, but for set-cookie, which means nothing in a request.
      headers: request.headers as Record<string, string | undefined>,
      body: request.body instanceof Buffer ? request.body : Buffer.alloc(0),
      sourceAddress: sourceOfRequest(request),
      signal: () => gone.signal,
    });
    write(reply, answer);
  }

  acceptAnyBody(app);
  app.setErrorHandler<BrokenRequest>((error, request, reply) => refuseAndClose(request, reply, whatBroke(error)));
  app.setNotFoundHandler(handle);
  app.route({ method: app.supportedMethods, url: "/", handler: handle });
  addOperationalRoutes(app, context, options);
  answerOddRequests(app, (socket) => writeRaw(socket, refuse(notHttp, socket.remoteAddress)));
  believeProxies(app, { ...options, isExempt: isOperational, refuse: refuseBusy });
  await app.listen({ host: options.host, port: options.port, backlog: acceptBacklogMax });
  const address = app.server.address();
  return {
    port: typeof address === "object" && address ? address.port : options.port,
    useCertificate: (pair) => (app.server as unknown as HttpsServer).setSecureContext(secureOptions(pair)),
    close: () => app.close(),
  };
}

/** Sockets with a request that has arrived whole and has no answer yet; aborted when nobody waits for one any more. */
type Answering = WeakMap<Socket, AbortController>;

function createApp(
  options: ServerOptions,
  answering: Answering,
  refuse: (error: ApiError, address: string | undefined) => EdgeAnswer,
) {
  const { requestTimeoutMs = requestTimeoutMsDefault, connectionsMax = connectionsMaxDefault } = options;
  const refuseRaw = (error: ApiError, socket: Socket) => {
    // An answer of ours would be taken for the one that the request before this one still waits for.
    if (answering.has(socket)) socket.destroy();
    else writeRaw(socket, refuse(error, socket.remoteAddress));
  };
  const app = fastify({
    ...serverSettings(requestTimeoutMs, options.tls),
    clientErrorHandler: (error, socket) => {
      const known = clientErrors[(error as NodeJS.ErrnoException).code ?? ""];
      refuseRaw(known ? new ApiError(known) : notHttp, socket);
    },
  });
  const limits = guardServer(app.server, {
    ...(options.shares ?? sourceSharesDefault),
    connectionsMax,
    isTrusted: options.proxies?.trusted.isTrusted,
    // What lies beneath TLS is no place for words.
    endHalfOpen: options.tls ? undefined : (socket) => refuseRaw(new ApiError("request_timeout"), socket),
    // It may still read its answer, but does not wait for something to happen.
    ended: (socket) => answering.get(socket)?.abort(),
  });
  return { app, limits };
}

/** What is wrong with a request that Node takes for one. */
function findMistake({ raw, headers, originalUrl }: FastifyRequest): ApiError | undefined {
  if (!hasOneHost(raw) || headers.host === "") return notOneHost;
  // Node lets ASCII through only.
  return originalUrl.length > targetBytesMax ? targetTooLarge : undefined;
}

function serverSettings(requestTimeoutMs: number, tls: TlsPair | undefined) {
  const http = {
    maxHeaderSize: headerBytesMax,
    connectionsCheckingInterval: timeoutCheckMs,
    // Node swaps the two times when this one is the longer (60 s by default).
    headersTimeout: requestTimeoutMs,
    // A request without a Host header would get an answer of Node's own form; `handle` refuses it in ours.
    requireHostHeader: false,
  };
  return {
    requestTimeout: requestTimeoutMs,
    keepAliveTimeout: keepAliveTimeoutMs,
    // The rest of the code needs no other type for TLS.
    ...((tls ? { https: { ...http, ...secureOptions(tls) } } : { http }) as { http: typeof http }),
    forceCloseConnections: "idle",
    exposeHeadRoutes: false,
    // The API's paths are matched by the edge from the raw target, so that no decoding can move a separator.
    rewriteUrl: ({ url = "/" }: { url?: string | undefined }) => (operationalPaths.has(url) ? url : "/"),
  } as const;
}

const notHttp = new ApiError("bad_request", { text: "This is not an HTTP request that is understood here." });

const targetTooLarge = new ApiError("request_header_too_large", {
  text: `The path and query are longer than ${targetBytesMax} bytes.`,
});

const notOneHost = new ApiError("bad_request", { text: "A request has one Host header; send exactly one." });

const unreadableBody = new ApiError("bad_request", { text: "The body could not be read." });

type BrokenRequest = Error & { statusCode?: number };

/** The framework gives its own errors a status. One of ours comes after the body, when the request may be done already. */
function whatBroke(error: BrokenRequest): ApiError {
  if (error instanceof ApiError) return error;
  return error.statusCode === undefined ? new ApiError("internal_error") : unreadableBody;
}

const clientErrors: Record<string, ErrorCode> = {
  HPE_HEADER_OVERFLOW: "request_header_too_large",
  ERR_HTTP_REQUEST_TIMEOUT: "request_timeout",
};

/** Clients send bodies with any content type, and with any method; the signature covers the raw bytes. */
function acceptAnyBody(app: FastifyInstance): void {
  for (const method of ["GET", "DELETE", "HEAD"]) app.addHttpMethod(method, { hasBody: true, overrideExisting: true });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", async (_request: FastifyRequest, message: IncomingMessage) => {
    const body = await readBody(message, bodyBytesMax).catch(() => {
      throw unreadableBody;
    });
    if (body === undefined) throw new ApiError("request_too_large");
    return body;
  });
}

const operationalPaths = new Set(["/healthz", "/readyz"]);
const isOperational = ({ originalUrl }: FastifyRequest) => operationalPaths.has(originalUrl);

function addOperationalRoutes(app: FastifyInstance, context: Context, { replayGuard }: ServerOptions): void {
  app.get("/healthz", () => ({ status: "ok" }));
  app.get("/readyz", async (_request, reply) => {
    const status = whyNotReady(context, replayGuard.horizonSeconds());
    return reply.code(status === undefined ? 200 : 503).send({ status: status ?? "ready" });
  });
}

/** @param horizonSeconds requests signed at or before are refused, so until it has passed hardly any is served */
function whyNotReady({ listener, clock }: Context, horizonSeconds: number): string | undefined {
  if (listener.aliveAsOf() === undefined) return "waiting for the database";
  const waitSeconds = horizonSeconds + 1 - unixSeconds(clock);
  if (waitSeconds <= 0) return undefined;
  return `refusing every request for another ${waitSeconds} s: which nonces were used up to then is not known here`;
}

/** Node would answer these by itself, in a form of its own, or not at all. */
function answerOddRequests(app: FastifyInstance, refuseSocket: (socket: Socket) => void): void {
  // An expectation other than 100-continue may be ignored (RFC 9110 section 10.1.1).
  app.server.on("checkExpectation", (request, response) => app.server.emit("request", request, response));
  app.server.on("connect", (_request, socket) => {
    // Node has taken its own listener away, and an error without one ends the process.
    socket.on("error", () => socket.destroy());
    refuseSocket(socket as Socket);
  });
}

function write(reply: FastifyReply, answer: EdgeAnswer): void {
  const phrase = reasonPhrases[answer.status];
  if (phrase !== undefined) reply.raw.statusMessage = phrase;
  reply.code(answer.status).headers(answer.headers).send(answer.body);
}

/** Writes a whole response to a socket for which there is no request, and closes it. */
function writeRaw(socket: Socket, answer: EdgeAnswer): void {
  if (!socket.writable) return void socket.destroy();
  const phrase = reasonPhrases[answer.status] ?? STATUS_CODES[answer.status] ?? "";
  const headers = Object.entries({ ...answer.headers, connection: "close" }).map(
    ([name, value]) => `${name}: ${value}`,
  );
  socket.end(`HTTP/1.1 ${answer.status} ${phrase}\r\n${headers.join("\r\n")}\r\n\r\n${answer.body ?? ""}`);
  setTimeout(() => socket.destroy(), lingerMs).unref();
}
