/**
 * The edge: takes a request as it came, lets every check pass over it, runs its use case and makes the full answer.
 * Whatever happens, the answer has its request id and the four rate-limit headers, and a nonce ends in one of two
 * ways: released when nothing was done for now (429, 5xx), used for good otherwise.
 */
import { type Authenticated, type AuthenticatorOptions, createAuthenticator, Refusal } from "#api/authenticate.ts";
import type { Credentials, WireRequest } from "#api/credentials.ts";
import { createIdempotencyGate, parseIdempotencyKey } from "#api/idempotency.ts";
import { type RateLimit, rateLimitHeaders } from "#api/rate-limit.ts";
import { matchRoute, type RouteMatch } from "#api/routes.ts";
import {
  AlreadyCommitted,
  findCommittedAnswer,
  type IdempotentRequest,
  type SignedWrite,
  storeCommittedAnswer,
  storeIdempotentAnswer,
} from "#api/stored-answers.ts";
import type { Answer, UseCase, UseCaseRequest } from "#api/use-case.ts";
import type { Context } from "#context.ts";
import { DatabaseUnavailable } from "#db/errors.ts";
import { ApiError, type ErrorCode, unavailable } from "#errors.ts";
import { unixSeconds } from "#lib/clock.ts";

const waitSecondsMax = 30;
const databaseRetrySeconds = 5;

/** What any request can be answered, whatever its use case. */
export const edgeErrors: readonly ErrorCode[] = [
  "auth_authorization_header_invalid_format",
  "authorization_hmac_invalid",
  "authorization_timestamp_invalid",
  "authorization_nonce_reused",
  "authorization_ip_not_allowed",
  "authorization_scope_missing",
  "resource_not_found",
  "method_not_allowed",
  "request_timeout",
  "request_too_large",
  "idempotency_in_progress",
  "idempotency_key_reused",
  "rate_limit_exceeded",
  "request_header_too_large",
  "internal_error",
  "service_unavailable",
];

export interface EdgeRequest extends WireRequest {
  requestId: string;
  signal: AbortSignal;
}

/** Everything that is written: `body` as text, absent on 202 and 204. */
export interface EdgeAnswer {
  status: number;
  headers: Record<string, string>;
  body: string | undefined;
}

export interface Edge {
  /** Never throws. */
  answer(request: EdgeRequest): Promise<EdgeAnswer>;
  /** The full form of an error for which no request could be read. */
  refuse(error: ApiError, requestId: string, sourceAddress: string): EdgeAnswer;
}

export interface EdgeOptions extends AuthenticatorOptions {
  /** How long a repeat of an Idempotency-Key waits for the request in progress. Default 10 s. */
  idempotencyWaitMs?: number;
}

/** Makes the edge of one api process; it keeps counts, cached keys and the requests in progress, and no truth. */
export function createEdge(context: Context, options: EdgeOptions): Edge {
  const { log } = context;
  const { replayGuard } = options;
  const authenticator = createAuthenticator(context, options);
  const gate = createIdempotencyGate(context, options.idempotencyWaitMs);

  /** Turns whatever was thrown into an answer; what nobody expected is logged and told to nobody. */
  function answerError(error: unknown, request: EdgeRequest, allowed: readonly ErrorCode[]): Answer {
    if (error instanceof ApiError && (allowed.includes(error.code) || edgeErrors.includes(error.code))) {
      return { status: error.status, headers: error.headers, body: error.body() };
    }
    if (error instanceof DatabaseUnavailable) {
      log.warn({ requestId: request.requestId, reason: error.message }, "the database is unavailable");
      return answerError(unavailable(databaseRetrySeconds), request, allowed);
    }
    log.error({ requestId: request.requestId, err: error }, "a request failed unexpectedly");
    return answerError(new ApiError("internal_error"), request, allowed);
  }

  /** Runs the use case of an authenticated request; the answer says whether something was committed. */
  async function run(request: EdgeRequest, authenticated: Authenticated, matched: RouteMatch | undefined) {
    const route = matched?.route;
    if (!matched) throw new ApiError("resource_not_found");
    if (!route) throw new ApiError("method_not_allowed", { headers: { allow: matched.allowed.join(", ") } });
    const { key, credentials, digest } = authenticated;
    const { scope } = route.useCase;
    if (!key.caller.scopes.includes(scope)) {
      const text = `This API key does not have the scope ${scope}.`;
      throw new ApiError("authorization_scope_missing", { text });
    }
    const { keyId, nonce, timestamp } = credentials;
    const write = (): SignedWrite => ({ keyId, nonce, timestamp, digest: digest() });
    const [path = "", query = ""] = splitTarget(request.target);
    const idempotencyKey =
      route.method === "POST" ? parseIdempotencyKey(request.headers["idempotency-key"]) : undefined;
    const idempotent: IdempotentRequest | undefined =
      idempotencyKey === undefined
        ? undefined
        : {
            resellerId: key.caller.resellerId,
            method: route.method,
            path: path.slice(matched.prefix.length),
            key: idempotencyKey,
            bodyMac: context.sealer.hmac("idempotency", request.body),
          };
    let isStored = false;
    const useCaseRequest: UseCaseRequest = {
      caller: key.caller,
      params: matched.params,
      query,
      rawBody: request.body,
      prefix: matched.prefix,
      waitSeconds: parseWait(request.headers.prefer),
      signal: request.signal,
      async commit(tx, answer) {
        await storeCommittedAnswer(context, tx, write(), answer);
        if (idempotent) await storeIdempotentAnswer(context, tx, idempotent, answer);
        isStored = true;
      },
    };
    const work = () => runUseCase(route.useCase, useCaseRequest, request);
    if (route.method === "POST") {
      // A nonce that was released after a 5xx may belong to a write whose commit went through unseen.
      const committed = await findOwnAnswer(write());
      if (committed) return committed;
    }
    try {
      if (!idempotent) return await work();
      return await gate.once(idempotent, async () => ({ answer: await work(), isStored }));
    } catch (error) {
      if (!(error instanceof AlreadyCommitted)) throw error;
      // Somebody has committed a write under this nonce since: this very request elsewhere, or another one.
      const committed = await findOwnAnswer(write());
      if (!committed) throw error;
      return committed;
    }
  }

  /** The stored answer of this very write. @throws ApiError when its nonce belongs to another committed request */
  async function findOwnAnswer(write: SignedWrite): Promise<Answer | undefined> {
    const committed = await findCommittedAnswer(context, write);
    if (committed === "other") throw new ApiError("authorization_nonce_reused");
    return committed;
  }

  async function runUseCase(useCase: UseCase, useCaseRequest: UseCaseRequest, request: EdgeRequest): Promise<Answer> {
    try {
      return await useCase.handle(context, useCaseRequest);
    } catch (error) {
      if (error instanceof AlreadyCommitted) throw error;
      return answerError(error, request, useCase.errors);
    }
  }

  async function answerAuthenticated(request: EdgeRequest, authenticated: Authenticated): Promise<Answer> {
    if (authenticated.replayed) return authenticated.replayed;
    const { keyId, nonce } = authenticated.credentials;
    const matched = matchRoute(request.method, splitTarget(request.target)[0] ?? "");
    const answer = await run(request, authenticated, matched).catch((error) =>
      answerError(error, request, matched?.route?.useCase.errors ?? []),
    );
    if (answer.status === 429 || answer.status >= 500) replayGuard.release(keyId, nonce);
    else rememberNonce(authenticated.credentials);
    return answer;
  }

  /** Before the answer goes out: once a client can have seen it, the nonce must be known as used, come what may. */
  function rememberNonce({ keyId, nonce, timestamp, otherReadings }: Credentials): void {
    replayGuard.answered(keyId, nonce, timestamp);
    const now = { nowSeconds: unixSeconds(context.clock), windowSeconds: options.windowSeconds };
    for (const other of otherReadings(now)) {
      replayGuard.answered(keyId, other.nonce, other.timestamp);
    }
  }

  return {
    async answer(request) {
      try {
        const authenticated = await authenticator.authenticate(request);
        return complete(await answerAuthenticated(request, authenticated), request.requestId, authenticated.rateLimit);
      } catch (thrown) {
        const refused = thrown instanceof Refusal ? thrown : undefined;
        const answer = answerError(refused?.error ?? thrown, request, []);
        const rateLimit = refused?.rateLimit ?? authenticator.sourceLimit(request.sourceAddress);
        return complete(answer, request.requestId, rateLimit);
      }
    },
    refuse(error, requestId, sourceAddress) {
      const answer = { status: error.status, headers: error.headers, body: error.body() };
      return complete(answer, requestId, authenticator.sourceLimit(sourceAddress));
    },
  };
}

function complete(answer: Answer, requestId: string, rateLimit: RateLimit): EdgeAnswer {
  const body = answer.body === undefined ? undefined : JSON.stringify(answer.body);
  return {
    status: answer.status,
    headers: {
      "x-request-id": requestId,
      ...rateLimitHeaders(rateLimit),
      "cache-control": "no-store",
      ...(body !== undefined && { "content-type": "application/json; charset=utf-8" }),
      "content-length": String(Buffer.byteLength(body ?? "")),
      ...answer.headers,
    },
    body,
  };
}

function splitTarget(target: string): [string, string] {
  const mark = target.indexOf("?");
  return mark === -1 ? [target, ""] : [target.slice(0, mark), target.slice(mark + 1)];
}

/** `Prefer: wait=N` (RFC 7240 §4.3), at most 30 s. */
function parseWait(prefer: string | undefined): number {
  const seconds = /(?:^|[,;\s])wait=([0-9]{1,9})(?:$|[,;\s])/i.exec(prefer ?? "")?.[1];
  return Math.min(Number(seconds ?? 0), waitSecondsMax);
}
