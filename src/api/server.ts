/** The HTTP server of the API: sockets, sizes and times; what a request means is the edge's business. */
import { STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import type { AuthenticatorOptions } from "#api/authenticate.ts";
import { createEdge, type EdgeAnswer } from "#api/edge.ts";
import { parseTarget } from "#api/signature.ts";
import type { Context } from "#context.ts";
import { ApiError, type ErrorCode } from "#errors.ts";

const bodyBytesMax = 64 * 1024;
const headerBytesMax = 16 * 1024;
const requestTimeoutMs = 15_000;
const keepAliveTimeoutMs = 65_000;
const connectionsMax = 10_000;

/** Reason phrases that are promised; the others are Node's. */
const reasonPhrases: Record<number, string> = { 429: "Too many requests, retry later." };

export interface ServerOptions extends AuthenticatorOptions {
  host: string;
  /** 0 for any free one. */
  port: number;
}

export interface Server {
  port: number;
  /** Stops accepting, lets requests end, closes. */
  close(): Promise<void>;
}

/** @throws when the address cannot be listened on */
export async function startServer(context: Context, options: ServerOptions): Promise<Server> {
  const edge = createEdge(context, options);
  const requestId = () => context.random.bytes(12).toString("hex");

  const app = fastify({
    bodyLimit: bodyBytesMax,
    requestTimeout: requestTimeoutMs,
    keepAliveTimeout: keepAliveTimeoutMs,
    http: { maxHeaderSize: headerBytesMax },
    forceCloseConnections: "idle",
    exposeHeadRoutes: false,
    // The API's paths are matched by the edge from the raw target, so that no decoding can move a separator.
    rewriteUrl: (request) => (operationalPaths.has(request.url ?? "") ? request.url! : "/"),
    clientErrorHandler: (error, socket) => {
      const known = clientErrors[(error as NodeJS.ErrnoException).code ?? ""];
      const refused = new ApiError(known ?? "bad_request", known ? {} : { text: "This is not an HTTP request." });
      writeRaw(socket, edge.refuse(refused, requestId(), socket.remoteAddress ?? ""));
    },
  });

  async function handle(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const gone = new AbortController();
    reply.raw.once("close", () => gone.abort());
    const single = (name: string) => {
      const value = request.headers[name];
      return Array.isArray(value) ? value.join(", ") : value;
    };
    const answer = await edge.answer({
      requestId: requestId(),
      method: request.method,
      target: parseTarget(request.originalUrl) ?? request.originalUrl,
      authorization: single("authorization"),
      body: request.body instanceof Buffer ? request.body : Buffer.alloc(0),
      sourceAddress: request.socket.remoteAddress ?? "",
      idempotencyKey: single("idempotency-key"),
      prefer: single("prefer"),
      signal: gone.signal,
    });
    write(reply, answer);
  }

  acceptAnyBody(app);
  app.setErrorHandler<Error & { statusCode?: number; code?: string }>((error, request, reply) => {
    const code: ErrorCode = error.code === "FST_ERR_CTP_BODY_TOO_LARGE" ? "request_too_large" : "bad_request";
    const refused = new ApiError(code, code === "bad_request" ? { text: "The body could not be read." } : {});
    const answer = edge.refuse(refused, requestId(), request.socket.remoteAddress ?? "");
    write(reply.header("connection", "close"), answer);
  });
  app.setNotFoundHandler(handle);
  app.route({ method: app.supportedMethods, url: "/", handler: handle });
  addOperationalRoutes(app, context);
  limitConnections(app, () => edge.refuse(new ApiError("service_unavailable"), requestId(), ""));

  await app.listen({ host: options.host, port: options.port });
  const address = app.server.address();
  return { port: typeof address === "object" && address ? address.port : options.port, close: () => app.close() };
}

const clientErrors: Record<string, ErrorCode> = {
  HPE_HEADER_OVERFLOW: "request_header_too_large",
  ERR_HTTP_REQUEST_TIMEOUT: "request_timeout",
};

/** Clients send bodies with any content type, and with any method; the signature covers the raw bytes. */
function acceptAnyBody(app: FastifyInstance): void {
  for (const method of ["GET", "DELETE", "HEAD"]) app.addHttpMethod(method, { hasBody: true, overrideExisting: true });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", { parseAs: "buffer" }, (_request, body, done) => done(null, body));
}

const operationalPaths = new Set(["/healthz", "/readyz"]);

function addOperationalRoutes(app: FastifyInstance, context: Context): void {
  app.get("/healthz", () => ({ status: "ok" }));
  app.get("/readyz", async (_request, reply) => {
    const isReady = context.listener.aliveAsOf() !== undefined;
    return reply.code(isReady ? 200 : 503).send({ status: isReady ? "ready" : "waiting for the database" });
  });
}

function limitConnections(app: FastifyInstance, refusal: () => EdgeAnswer): void {
  let open = 0;
  app.server.on("connection", (socket) => {
    open++;
    socket.once("close", () => open--);
    if (open > connectionsMax) writeRaw(socket, refusal());
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
}
