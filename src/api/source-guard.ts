/** What a refused request costs its source, and what the check of a request waits for. */
import type { WireRequest } from "#api/signing/credentials.ts";
import { ApiError, type ErrorCode } from "#errors.ts";
import type { RateLimit, RateLimiter, SourceBudget } from "#front/rate-limit.ts";
import { measure } from "#lib/measure/measure.ts";
import { sourceOf } from "#lib/net/source-address.ts";
import { TooManyWaiting } from "#lib/queues/source-turns.ts";

/** A refused request, with the limit that its headers report. */
export class Refusal extends Error {
  readonly error: ApiError;
  readonly rateLimit: RateLimit;
  constructor(error: ApiError, rateLimit: RateLimit) {
    super(error.message);
    this.error = error;
    this.rateLimit = rateLimit;
  }
}

/** A request that comes too early; its answer says when to retry. */
export function tooManyRequests(rateLimit: RateLimit, reason: "rate_limit" | "source_budget" = "rate_limit"): Refusal {
  measure("http_refusals_total", { reason });
  // When requests only wait, nothing is counted.
  const seconds = Math.max(1, rateLimit.resetSeconds);
  return new Refusal(new ApiError("rate_limit_exceeded", { headers: { "retry-after": String(seconds) } }), rateLimit);
}

/** The budget of failures of a request's source, or of its key there. */
export interface SourceGuard {
  /** @throws Refusal when the failures are used up */
  requireBudget(request: WireRequest, keyId?: string): void;
  /** Counts a failure at once. @returns the error to throw */
  refuse(request: WireRequest, code: ErrorCode, keyId?: string, text?: string): Refusal;
  /** Does the work when it is the source's turn, as `SourceBudget` describes. @throws Refusal; DatabaseUnavailable */
  inTurn<T>(kind: "lookUp" | "guess", request: WireRequest, keyId: string, work: () => Promise<T>): Promise<T>;
}

/** The source's other requests before or during the turn count, so the work begins with `requireBudget`. */
export function createSourceGuard(sources: SourceBudget): SourceGuard {
  function requireBudget({ sourceAddress }: WireRequest, keyId?: string): void {
    const budget = sources.check(sourceAddress, keyId);
    if (budget.allowed) return;
    const refusal = tooManyRequests(budget, "source_budget");
    // The connection closes after this answer: a flood continues only as fast as it reconnects.
    refusal.error.headers.connection = "close";
    throw refusal;
  }

  return {
    requireBudget,
    refuse({ sourceAddress }, code, keyId, text) {
      const rateLimit = sources.noteFailure(sourceAddress, keyId);
      return new Refusal(new ApiError(code, text === undefined ? {} : { text }), rateLimit);
    },
    async inTurn(kind, request, keyId, work) {
      try {
        return await sources[kind](request.sourceAddress, work);
      } catch (error) {
        if (!(error instanceof TooManyWaiting)) throw error;
        throw tooManyRequests(sources.check(request.sourceAddress, keyId), "source_budget");
      }
    },
  };
}

/** A path that needs no signature, and how often a source may ask there in a window of the limiter. */
export interface UnsignedLimit {
  path: string;
  requestsMax: number;
}

/**
 * Makes a function that counts a request without a signature, which uses no budget of failures and needs none. It throws a Refusal
 * when the source has sent too many.
 */
export function createUnsignedLimit(limiter: RateLimiter) {
  return ({ sourceAddress }: WireRequest, { path, requestsMax }: UnsignedLimit): RateLimit => {
    const rateLimit = limiter.take(`${path} ${sourceOf(sourceAddress)}`, requestsMax);
    if (!rateLimit.allowed) throw tooManyRequests(rateLimit);
    return rateLimit;
  };
}
