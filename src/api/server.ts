/** The API's server: which requests reach the edge, and how all others are answered. */
import type { IncomingMessage } from "node:http";
import { createDocsSite, hasDocsSite } from "#api/docs-site.ts";
import { createEdge, type Edge, type EdgeAnswer, type EdgeOptions } from "#api/edge.ts";
import { createFirstPage } from "#api/first-page.ts";
import {
  bodyBytesMax,
  describedRequestBytesMax,
  headerBytesMax,
  targetBytesMax,
  zoneFileBytesMax,
} from "#api/request-limits.ts";
import type { EdgeRequest } from "#api/run-route.ts";
import { parseTarget } from "#api/signing/signature.ts";
import type { Context } from "#context.ts";
import { ApiError, unavailable } from "#errors.ts";
import {
  type FrontOptions,
  type FrontRefusal,
  type HttpAnswer,
  type HttpRequest,
  type HttpServer,
  startHttpServer,
} from "#front/http-server.ts";
import { unixSeconds } from "#lib/clock.ts";
import { inSpan } from "#lib/measure/tracing.ts";
import { hasOneHost } from "#lib/net/host-lines.ts";
import { readBody } from "#lib/net/read-body.ts";

const requestTimeoutMsDefault = 15_000;
const keepAliveTimeoutMs = 65_000;
const requestIdDigits = 24;
const connectionsMaxDefault = 10_000;
const connectionRetrySeconds = 5;

export interface ServerOptions extends EdgeOptions, FrontOptions {
  /** From a request's first byte to its last. Default 15 s. */
  requestTimeoutMs?: number;
  /** Fires some time before the server closes: from then on it is not ready. */
  stopping?: AbortSignal;
  /** Whether its first page says how to try it. Default no. */
  isSandbox?: boolean;
}

/** @param options at most 10,000 connections by default @throws when the address cannot be listened on */
export function startServer(context: Context, options: ServerOptions): Promise<HttpServer> {
  const edge = createEdge(context, options);
  const docs = createDocsSite();
  const firstPage = createFirstPage({ hasDocs: hasDocsSite(), isSandbox: options.isSandbox ?? false });
  // Node draws the randomness of many UUIDs at once: 0.9 µs each, against 3.2 µs when each draws its random bytes.
  const requestId = () => context.random.uuid().replaceAll("-", "").slice(0, requestIdDigits);
  const refuse = (error: ApiError, sourceAddress: string) => edge.refuse(error, requestId(), sourceAddress);

  async function answer(request: HttpRequest): Promise<HttpAnswer> {
    const { message, sourceAddress, isFromProxy, signal } = request;
    const operational = isOperational(message) && answerOperator(context, options, message);
    if (operational) return operational;
    if (docs.isFor(message)) return docs.answer(message);
    if (firstPage.isFor(message)) return firstPage.answer;
    const { method = "", url = "", headers } = message;
    const body = await takeBody(message);
    const mistake = body instanceof ApiError ? body : findMistake(message);
    if (mistake) return { ...refuse(mistake, sourceAddress), isLast: true };
    const answered = await answerInSpan(edge, {
      requestId: requestId(),
      method,
      // The edge matches the API's paths from the raw target, so that no decoding can move a separator.
      target: parseTarget(url) ?? url,
      // Node joins the lines of a field itself, except set-cookie, which has no meaning in a request.
      headers: headers as Record<string, string | undefined>,
      body: body as Buffer,
      sourceAddress,
      // Anybody else could tie a request to the trace of others, or have all of theirs recorded.
      traceparent: isFromProxy ? (headers.traceparent as string | undefined) : undefined,
      signal,
    });
    return firstPage.besides(message, answered);
  }

  return startHttpServer({
    ...options,
    door: "resellers",
    log: context.log,
    connectionsMax: options.connectionsMax ?? connectionsMaxDefault,
    requestTimeoutMs: options.requestTimeoutMs ?? requestTimeoutMsDefault,
    settings: { maxHeaderSize: headerBytesMax, keepAliveTimeout: keepAliveTimeoutMs },
    answer,
    refuse: (reason, sourceAddress) => refuse(refusals[reason], sourceAddress),
    isExempt: isOperational,
  });
}

/** Its span lasts from the whole request to its answer, or to the beginning of an answer in parts. */
function answerInSpan(edge: Edge, request: EdgeRequest): Promise<EdgeAnswer> {
  const { requestId, traceparent: parent = null } = request;
  const span = { name: "request", kind: "server" as const, parent, attributes: { "deedhouse.request_id": requestId } };
  return inSpan(span, (own) => edge.answer(request, own));
}

const refusals: Record<FrontRefusal, ApiError> = {
  busy: unavailable(connectionRetrySeconds),
  "not-http": new ApiError("bad_request", { text: "This is not a valid HTTP request." }),
  "headers-too-large": new ApiError("request_header_too_large"),
  timeout: new ApiError("request_timeout"),
};

const noBody = Buffer.alloc(0);

/** The body of these describes a request, which may itself have a body. */
const describesRequest = /^(?:\/v[12])?\/signature-check(?:$|\?)/i;
/** The one call whose body may be a zone file. */
const takesZoneFile = /^(?:\/v1)?\/domains\/[^/?]+\/records\/?(?:$|\?)/i;

function bytesMaxOf({ method, url = "", headers }: IncomingMessage): number {
  if (describesRequest.test(url)) return describedRequestBytesMax;
  const isZoneFile = method === "PUT" && /^text\/dns\b/i.test(headers["content-type"] ?? "") && takesZoneFile.test(url);
  return isZoneFile ? zoneFileBytesMax : bodyBytesMax;
}

const tooLarge = (bytesMax: number) =>
  new ApiError("request_too_large", { text: `The body is larger than ${bytesMax / 1024} KiB.` });

/** Clients send bodies with any content type, and with any method; the signature covers the raw bytes. */
async function takeBody(message: IncomingMessage): Promise<Buffer | ApiError> {
  const { "content-length": length = "0", "transfer-encoding": encoding } = message.headers;
  if (length === "0" && encoding === undefined) return noBody;
  const bytesMax = bytesMaxOf(message);
  return readBody(message, bytesMax).then(
    (body) => body ?? tooLarge(bytesMax),
    () => new ApiError("bad_request", { text: "The body could not be read." }),
  );
}

/** What is wrong with a request that Node's parser accepts. */
function findMistake(message: IncomingMessage): ApiError | undefined {
  if (!hasOneHost(message) || message.headers.host === "") {
    return new ApiError("bad_request", { text: "A request has one Host header; send exactly one." });
  }
  // Node accepts ASCII only.
  if ((message.url ?? "").length <= targetBytesMax) return undefined;
  return new ApiError("request_header_too_large", {
    text: `The path and query are longer than ${targetBytesMax} bytes.`,
  });
}

const operationalPaths = new Set(["/healthz", "/readyz"]);
const isOperational = ({ url = "" }: IncomingMessage) => operationalPaths.has(url);

function answerOperator(context: Context, options: ServerOptions, { method, url }: IncomingMessage) {
  if (method !== "GET") return undefined;
  const problem = url === "/healthz" ? undefined : whyNotReady(context, options);
  const status = problem ?? (url === "/healthz" ? "ok" : "ready");
  return {
    status: problem === undefined ? 200 : 503,
    headers: { "content-type": "application/json; charset=utf-8" },
    body: JSON.stringify({ status }),
  };
}

/** Why no load balancer should send it a request now. */
export function whyNotReady(
  { database, listener, clock }: Context,
  { replayGuard, stopping, whyRefused }: Pick<ServerOptions, "replayGuard" | "stopping" | "whyRefused">,
): string | undefined {
  if (stopping?.aborted) return "draining";
  const refusal = database.refusal();
  if (refusal !== undefined) return refusal;
  const whyNot = whyRefused?.();
  if (whyNot !== undefined) return whyNot;
  if (listener.aliveAsOf() === undefined) return "waiting for the database";
  // Requests signed at or before the horizon are refused, so until it has passed almost none is served.
  const waitSeconds = replayGuard.horizonSeconds() + 1 - unixSeconds(clock);
  if (waitSeconds <= 0) return undefined;
  return `refusing every request for another ${waitSeconds} s: which nonces were used up to then is not known here`;
}
