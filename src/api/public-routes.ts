/** The calls that need no signature. Each has a budget of its own for a source: none of them uses its budget of failures. */
import type { Authenticator } from "#api/authenticate.ts";
import type { EdgeRequest } from "#api/run-route.ts";
import { checkSignatureUnsigned } from "#api/signing/check-signature.ts";
import { Refusal, tooManyRequests } from "#api/source-guard.ts";
import { readTarget } from "#api/target.ts";
import type { Context } from "#context.ts";
import { ApiError, type ErrorCode } from "#errors.ts";
import { createRateLimiter, type RateLimit } from "#front/rate-limit.ts";
import { sourceOf } from "#lib/net/source-address.ts";
import type { Answer } from "#use-case/use-case.ts";

const windowMs = 60_000;

interface PublicRoute {
  method: string;
  /** Bare and under /v1. */
  path: string;
  errors: readonly ErrorCode[];
  /** For one source. */
  requestsMinuteMax: number;
  answer(request: EdgeRequest, authenticator: Authenticator): Answer;
}

const publicRoutes: readonly PublicRoute[] = [
  {
    method: "POST",
    path: "/signature-check",
    errors: ["bad_request"],
    requestsMinuteMax: 30,
    answer: ({ body }, { judgeTimes }) => checkSignatureUnsigned(body, judgeTimes),
  },
];

/** A route that answers a request without a signature. */
export interface OpenRoute {
  errors: readonly ErrorCode[];
  /** Counts the request. @throws Refusal, also when its source has sent too many */
  answer(request: EdgeRequest): { answer: Answer; rateLimit: RateLimit };
}

/** Makes the look-up of the route of a request; undefined for one that has a signature, or that needs one. */
export function createPublicRoutes({ clock }: Pick<Context, "clock">, authenticator: Authenticator) {
  const limiter = createRateLimiter({ clock, windowMs });
  return (request: EdgeRequest): OpenRoute | undefined => {
    const { authorization, signature, "signature-input": signatureInput } = request.headers;
    if (authorization !== undefined || signature !== undefined || signatureInput !== undefined) return undefined;
    const route = findPublicRoute(request);
    return (
      route && {
        errors: route.errors,
        answer(asked) {
          const source = `${route.path} ${sourceOf(asked.sourceAddress)}`;
          const rateLimit = limiter.take(source, route.requestsMinuteMax);
          if (!rateLimit.allowed) throw tooManyRequests(rateLimit);
          try {
            return { answer: route.answer(asked, authenticator), rateLimit };
          } catch (error) {
            throw error instanceof ApiError ? new Refusal(error, rateLimit) : error;
          }
        },
      }
    );
  };
}

function findPublicRoute({ method, target }: EdgeRequest): PublicRoute | undefined {
  const { segments } = readTarget(target);
  const path = `/${(segments[0] === "v1" ? segments.slice(1) : segments).join("/")}`;
  return publicRoutes.find((route) => route.method === method && route.path === path);
}
