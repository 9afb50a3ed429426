import type { Clock } from "./clock.ts";
import { ApiError, ConnectionError } from "./errors.ts";
import { apiErrorOf, type Reply } from "./response.ts";
import { planRetry, type RetryNotice } from "./retry.ts";
import { authorizationHeader, newIdempotencyKey, newNonce } from "./sign.ts";

/** A page of 100 items has about 50 kB; an answer far above that does not come from the service. */
const responseBytesMax = 8 * 1024 * 1024;

const zoneFileType = "text/dns";

/** Its version is the package's; a test compares them. */
export const ownUserAgent = "deedhouse-typescript/0.1.0";

export interface TransportOptions {
  baseUrl: URL;
  apiKey: string;
  apiSecret: string;
  fetch: typeof globalThis.fetch;
  timeoutMs: number;
  retriesMax: number;
  userAgent: string;
  onRetry: ((notice: RetryNotice) => void) | undefined;
  clock: Clock;
}

/** One call of the API, without the parts that every call shares. */
export interface Call {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Below the base URL, with encoded segments: `/domains/example.com`. */
  path: string;
  /** Including its `?`, or empty. */
  query?: string;
  /** Sent as JSON. */
  body?: object | undefined;
  /** Sent in place of a body: a zone file. */
  zoneFile?: string | undefined;
  /** Asks for a zone file in place of JSON. */
  wantsZoneFile?: boolean;
  /** Writes only over the version that has this `etag`. */
  ifMatch?: string | undefined;
  idempotencyKey?: string | undefined;
  /** How long the service may hold the answer (`Prefer: wait=N`). */
  waitSeconds?: number | undefined;
  /** Sends no signature. */
  isUnsigned?: boolean;
  signal?: AbortSignal | undefined;
}

/**
 * Sends a call, signed and with retries. Resolves with a 2xx; rejects with `ApiError`, `ConnectionError` or the
 * signal's reason.
 */
export type Send = (call: Call) => Promise<Reply>;

/** Makes a `Send` for one service and key. */
export function createSend(options: TransportOptions): Send {
  return (call) =>
    withRetries(prepare(call, options, "application/json"), options, (request, authorization) =>
      sendOnce(request, authorization, options),
    );
}

/** A call whose answer is CSV, in parts as they arrive. Retries until the first of them; then rejects with `ConnectionError`. */
export type OpenCsv = (call: Call) => AsyncGenerator<Uint8Array>;

export function createOpenCsv(options: TransportOptions): OpenCsv {
  return async function* (call) {
    const { body, watch } = await withRetries(prepare(call, options, "text/csv"), options, (request, authorization) =>
      openCsv(request, authorization, options),
    );
    try {
      for (let next = await body?.read(); next && !next.done; next = await body?.read()) {
        // The caller may take as long as it needs for each part.
        watch.stop();
        yield next.value;
        watch.start();
      }
    } catch (error) {
      call.signal?.throwIfAborted();
      const reason = watch.isLate() ? `nothing came for ${options.timeoutMs / 1000} s` : reasonOf(error);
      throw new ConnectionError(`the list broke off, so it is not whole: ${reason}`, error);
    } finally {
      watch.end();
    }
  };
}

async function openCsv(request: PreparedRequest, authorization: string | undefined, options: TransportOptions) {
  const watch = createWatch(request);
  watch.start();
  try {
    const response = await fetchOnce(request, authorization, options, watch.signal);
    if (response.ok && response.headers.get("content-type")?.startsWith("text/csv")) {
      return { body: response.body?.getReader(), watch };
    }
    throw apiErrorOf({ status: response.status, headers: response.headers, text: await readText(response) });
  } catch (error) {
    watch.end();
    if (error instanceof ApiError) throw error;
    request.signal?.throwIfAborted();
    throw connectionErrorOf(error, request, watch.isLate());
  }
}

/** Ends a request when nothing arrives within its timeout, and at `end`. */
function createWatch({ attemptTimeoutMs, signal }: PreparedRequest) {
  const ended = new AbortController();
  let isLate = false;
  let timer: NodeJS.Timeout | undefined;
  const stop = () => clearTimeout(timer);
  const end = () => {
    stop();
    ended.abort();
  };
  return {
    signal: signal ? AbortSignal.any([ended.signal, signal]) : ended.signal,
    start() {
      stop();
      timer = setTimeout(() => {
        isLate = true;
        end();
      }, attemptTimeoutMs);
    },
    stop,
    end,
    isLate: () => isLate,
  };
}

/** The request again and again, as long as `planRetry` says so. */
async function withRetries<T>(
  request: PreparedRequest,
  options: TransportOptions,
  attempt: (request: PreparedRequest, authorization: string | undefined) => Promise<T>,
): Promise<T> {
  let signed = signNow(request, options);
  let previous: ApiError | ConnectionError | undefined;
  for (let retriesDone = 0; ; retriesDone++) {
    try {
      return await attempt(request, signed.authorization);
    } catch (error) {
      if (!(error instanceof ApiError || error instanceof ConnectionError)) throw error;
      const ageMs = options.clock.monotonicMs() - signed.atMs;
      const plan = retriesDone < options.retriesMax ? planRetry(error, previous, retriesDone, ageMs) : undefined;
      if (!plan) throw error;
      options.onRetry?.({ ...plan, error, retry: retriesDone + 1 });
      await options.clock.sleep(plan.delayMs, request.signal);
      if (plan.signature === "new") signed = signNow(request, options);
      previous = error;
    }
  }
}

/** A request without its signature, fixed before the first attempt, so that every resend has the same bytes. */
interface PreparedRequest {
  method: Call["method"];
  url: URL;
  body: Buffer;
  headers: Headers;
  attemptTimeoutMs: number;
  isUnsigned: boolean;
  signal: AbortSignal | undefined;
}

function prepare(call: Call, options: TransportOptions, accept: string): PreparedRequest {
  const basePath = options.baseUrl.pathname.replace(/\/+$/, "");
  const url = new URL(`${options.baseUrl.origin}${basePath}${call.path}${call.query ?? ""}`);
  // An id of `..`, or an empty one, would silently become another resource.
  if (url.pathname !== basePath + call.path || /\/(\/|$)/.test(call.path))
    throw new TypeError(`${call.path} is not a path of the API`);
  const headers = new Headers({ accept: call.wantsZoneFile ? zoneFileType : accept, "user-agent": options.userAgent });
  if (call.body) headers.set("content-type", "application/json");
  if (call.zoneFile !== undefined) headers.set("content-type", zoneFileType);
  if (call.ifMatch !== undefined) headers.set("if-match", call.ifMatch);
  if (call.method !== "GET" && !call.isUnsigned) {
    headers.set("idempotency-key", parseIdempotencyKey(call.idempotencyKey ?? newIdempotencyKey()));
  }
  if (call.waitSeconds) headers.set("prefer", `wait=${call.waitSeconds}`);
  return {
    method: call.method,
    url,
    body: Buffer.from(call.zoneFile ?? (call.body ? JSON.stringify(call.body) : ""), "utf8"),
    headers,
    attemptTimeoutMs: options.timeoutMs + (call.waitSeconds ?? 0) * 1000,
    isUnsigned: call.isUnsigned ?? false,
    signal: call.signal,
  };
}

function parseIdempotencyKey(text: string): string {
  if (/^[\x21-\x7e]{1,255}$/.test(text)) return text;
  throw new TypeError("an idempotency key has 1 to 255 printable ASCII characters without spaces");
}

interface Signed {
  /** Missing in a call that is not signed. */
  authorization: string | undefined;
  atMs: number;
}

function signNow(request: PreparedRequest, options: TransportOptions): Signed {
  const atMs = options.clock.monotonicMs();
  if (request.isUnsigned) return { authorization: undefined, atMs };
  const authorization = authorizationHeader({
    apiKey: options.apiKey,
    apiSecret: options.apiSecret,
    method: request.method,
    target: request.url.pathname + request.url.search,
    body: request.body,
    nonce: newNonce(),
    timestampSeconds: Math.floor(options.clock.now().getTime() / 1000),
  });
  return { authorization, atMs };
}

async function sendOnce(
  request: PreparedRequest,
  authorization: string | undefined,
  options: TransportOptions,
): Promise<Reply> {
  const timeout = AbortSignal.timeout(request.attemptTimeoutMs);
  const signal = request.signal ? AbortSignal.any([timeout, request.signal]) : timeout;
  let reply: Reply;
  try {
    const response = await fetchOnce(request, authorization, options, signal);
    reply = { status: response.status, headers: response.headers, text: await readText(response) };
  } catch (error) {
    request.signal?.throwIfAborted();
    throw connectionErrorOf(error, request, timeout.aborted);
  }
  if (reply.status < 200 || reply.status > 299) throw apiErrorOf(reply);
  return reply;
}

function fetchOnce(
  request: PreparedRequest,
  authorization: string | undefined,
  options: TransportOptions,
  signal: AbortSignal,
): Promise<Response> {
  const headers = new Headers(request.headers);
  if (authorization !== undefined) headers.set("authorization", authorization);
  return options.fetch(request.url, {
    method: request.method,
    headers,
    body: request.body.length > 0 ? new Uint8Array(request.body) : null,
    signal,
    // The signature covers one target, so a redirect would need another request.
    redirect: "manual",
  });
}

async function readText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    if (size > responseBytesMax) throw new RangeError(`the answer is longer than ${responseBytesMax} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** What Node says of a certificate that it does not trust, or that is another host's. */
const certificateFault =
  /^(CERT_|ERR_TLS_CERT_|UNABLE_TO_(GET_ISSUER|VERIFY)|(DEPTH_ZERO_)?SELF_SIGNED_CERT|HOSTNAME_MISMATCH)/;

function connectionErrorOf(error: unknown, request: PreparedRequest, timedOut: boolean): ConnectionError {
  const noAnswer = `no answer from ${request.url.origin}`;
  if (timedOut) return new ConnectionError(`${noAnswer} within ${request.attemptTimeoutMs / 1000} s`, error);
  const reason = reasonOf(error);
  if (!certificateFault.test(reason)) return new ConnectionError(`${noAnswer}: ${reason}`, error);
  const advice = "for a private authority, start Node with NODE_EXTRA_CA_CERTS=ca.pem";
  return new ConnectionError(`${noAnswer}: its certificate is not trusted (${reason}); ${advice}`, error, true);
}

/** fetch hides the reason ("ECONNREFUSED") in the cause. */
function reasonOf(error: unknown): string {
  const reason = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const code = (reason as { code?: unknown }).code;
  return typeof code === "string" ? code : String((reason as Error).message ?? reason);
}
