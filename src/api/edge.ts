/**
 * The edge: checks a request, runs its route and completes the answer. Every answer has a request id and the four
 * rate-limit headers. A nonce ends in one of two ways: released when nothing was done (429, 5xx), used for good
 * otherwise.
 */
import type { Readable } from "node:stream";
import { answerError, logBrokenStream } from "#api/answer-error.ts";
import { type Authenticated, type AuthenticatorOptions, createAuthenticator } from "#api/authenticate.ts";
import { createIdempotencyGate } from "#api/idempotency.ts";
import { createLongAnswers } from "#api/long-answers.ts";
import { findOpenRoute, type OpenRoute } from "#api/open-routes.ts";
import { JournalUnavailable, NonceTaken } from "#api/replay/replay.ts";
import { createRequestDatabase } from "#api/request-database.ts";
import { type EdgeRequest, type RouteServices, runRoute } from "#api/run-route.ts";
import { Refusal } from "#api/source-guard.ts";
import type { Context } from "#context.ts";
import { ApiError, unavailable } from "#errors.ts";
import { type RateLimit, rateLimitHeaders } from "#front/rate-limit.ts";
import { unixSeconds } from "#lib/clock.ts";
import { logOfRequest } from "#lib/log.ts";
import { isMeasured, measure, secondsSince } from "#lib/measure/measure.ts";
import type { OpenSpan } from "#lib/measure/tracing.ts";
import { findCommittedAnswer } from "#use-case/stored-answers.ts";
import type { Answer } from "#use-case/use-case.ts";

/** A client may send any other word. */
const measuredMethods: ReadonlySet<string> = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]);

const refusedRetrySeconds = 1;

/** The complete response: `body` is absent on 202 and 204, and may come in parts. */
export interface EdgeAnswer {
  status: number;
  headers: Record<string, string>;
  body: Buffer | string | Readable | undefined;
}

export interface Edge {
  /** Never throws. @param span learns what the metrics do */
  answer(request: EdgeRequest, span?: OpenSpan): Promise<EdgeAnswer>;
  /** The complete answer for an error when no request could be read. */
  refuse(error: ApiError, requestId: string, sourceAddress: string): EdgeAnswer;
}

export interface EdgeOptions extends AuthenticatorOptions {
  /** How long a repeat of an Idempotency-Key waits for the request in progress. Default 10 s. */
  idempotencyWaitMs?: number;
  /** Why no signed request may be answered now; undefined: they may. Default: always. */
  whyRefused?: () => string | undefined;
}

/**
 * Makes the edge of one api process. It holds counts, cached keys and requests in progress: nothing that must survive.
 */
export function createEdge(context: Context, options: EdgeOptions): Edge {
  const authenticator = createAuthenticator(context, options);
  const shared: RouteServices = {
    gate: createIdempotencyGate(options.idempotencyWaitMs),
    requestDatabase: createRequestDatabase(context.database),
    longAnswers: createLongAnswers(),
  };

  async function answerAuthenticated(request: EdgeRequest, authenticated: Authenticated): Promise<Answer> {
    if (authenticated.replayed) return authenticated.replayed;
    const { keyId, nonce } = authenticated.credentials;
    const answer = await runRoute(context, shared, request, authenticated);
    if (answer.status === 429 || answer.status >= 500) {
      options.replayGuard.release(keyId, nonce);
      return answer;
    }
    // From here on: a stream may break before it is written, and an error without a listener ends the process.
    answer.stream?.once("error", (error) => logBrokenStream(logOfRequest(context.log, request.requestId), error));
    try {
      await rememberNonce(context, options, authenticated);
      return answer;
    } catch (error) {
      answer.stream?.destroy();
      if (error instanceof NonceTaken) throw authenticated.refuseReused();
      if (!(error instanceof JournalUnavailable)) throw error;
      return answerWithoutJournal(context, options, authenticated, error);
    }
  }

  /** @throws Refusal */
  function answerOpen(route: OpenRoute, request: EdgeRequest): EdgeAnswer {
    const rateLimit = authenticator.takeUnsigned(request, route);
    try {
      return complete(route.answer(request, authenticator), request.requestId, rateLimit);
    } catch (error) {
      throw error instanceof ApiError ? new Refusal(error, rateLimit) : error;
    }
  }

  async function answerAny(request: EdgeRequest, open: OpenRoute | undefined): Promise<EdgeAnswer> {
    const { requestId, sourceAddress } = request;
    try {
      if (open) return answerOpen(open, request);
      // Before the timestamp is compared: who is refused may have the wrong clock, and would blame the client's.
      if ((context.database.refusal() ?? options.whyRefused?.()) !== undefined) throw unavailable(refusedRetrySeconds);
      const authenticated = await authenticator.authenticate(request);
      return complete(await answerAuthenticated(request, authenticated), requestId, authenticated.rateLimit);
    } catch (thrown) {
      const refused = thrown instanceof Refusal ? thrown : undefined;
      const log = logOfRequest(context.log, requestId);
      const answer = answerError(log, refused?.error ?? thrown, open?.errors ?? []);
      return complete(answer, requestId, refused?.rateLimit ?? authenticator.sourceLimit(sourceAddress));
    }
  }

  return {
    async answer(request, span) {
      const beganAtMs = performance.now();
      const open = findOpenRoute(request);
      const answer = await answerAny(request, open);
      if (span || isMeasured()) measureRequest(request, open, { status: answer.status, beganAtMs, span });
      return answer;
    },
    refuse(error, requestId, sourceAddress) {
      const answer = { status: error.status, headers: error.headers, body: error.body() };
      return complete(answer, requestId, authenticator.sourceLimit(sourceAddress));
    },
  };
}

function measureRequest(
  { method, headers, measuredAs }: EdgeRequest,
  open: OpenRoute | undefined,
  { status, beganAtMs, span }: { status: number; beganAtMs: number; span: OpenSpan | undefined },
): void {
  const { route, door } = measuredAs ?? { door: open ? "open" : "v1", route: open?.path ?? "none" };
  const labels = {
    // Its client wanted to wait.
    door: headers.prefer === undefined ? door : "held",
    route,
    method: measuredMethods.has(method) ? method : "other",
    status: String(status),
  };
  measure("http_request_duration_seconds", labels, secondsSince(beganAtMs));
  span?.rename(`${labels.method} ${route}`);
  span?.add({
    "http.request.method": labels.method,
    "http.route": route,
    "http.response.status_code": status,
    "deedhouse.door": labels.door,
  });
  if (status >= 500) span?.fail(String(status));
}

/** Runs before the answer goes out: once a client can have seen the answer, the nonce must be recorded as used. */
async function rememberNonce(
  { clock }: Context,
  { replayGuard, windowSeconds }: EdgeOptions,
  { credentials: { keyId, nonce, timestamp, otherReadings }, isStored }: Authenticated,
): Promise<void> {
  const beganAtMs = performance.now();
  // The first one: if the disk refuses it at once, nothing else has begun that could fail unheard.
  const own = replayGuard.answered(keyId, nonce, timestamp, isStored);
  const others = otherReadings({ nowSeconds: unixSeconds(clock), windowSeconds }).map(async (other) => {
    try {
      await replayGuard.answered(keyId, other.nonce, other.timestamp);
    } catch (error) {
      // Nobody can present another reading that is taken already.
      if (!(error instanceof NonceTaken)) throw error;
    }
  });
  await (others.length === 0 ? own : Promise.all([own, ...others]));
  measure("nonce_write_seconds", { mode: replayGuard.mode }, secondsSince(beganAtMs));
}

/**
 * The answer to a committed write is final, and the database holds its nonce. Of any other request the client has seen
 * nothing, so its nonce is free.
 * @throws the reason why the nonce could not be recorded
 */
async function answerWithoutJournal(
  context: Context,
  { replayGuard }: EdgeOptions,
  { credentials: { keyId, nonce, timestamp }, digest }: Authenticated,
  reason: JournalUnavailable,
): Promise<Answer> {
  try {
    const committed = await findCommittedAnswer(context, { keyId, nonce, digest: digest() });
    if (!committed || committed === "other") throw reason;
    replayGuard.load([{ keyId, nonce, timestamp }]);
    return committed;
  } finally {
    replayGuard.release(keyId, nonce);
  }
}

function complete(answer: Answer, requestId: string, rateLimit: RateLimit): EdgeAnswer {
  const { body: given } = answer;
  const body = given === undefined || given instanceof Buffer ? given : JSON.stringify(given);
  return {
    status: answer.status,
    headers: {
      "x-request-id": requestId,
      ...rateLimitHeaders(rateLimit),
      "cache-control": "no-store",
      ...(body !== undefined && { "content-type": "application/json; charset=utf-8" }),
      ...answer.headers,
    },
    body: body ?? answer.stream,
  };
}
