import {
  ApiError,
  type ErrorCode,
  type FieldErrorCode,
  unexpectedResponseCode,
  type ValidationError,
} from "./errors.ts";
import type { Answer, PlacedOrder, RateLimit } from "./types.ts";

/** A complete answer as received. */
export interface Reply {
  status: number;
  headers: Headers;
  /** The body as text; empty on 202. */
  text: string;
}

/** Adds the headers of any answer to `data`. */
export function answerOf<T>(reply: Reply, data: T): Answer<T> {
  return {
    data,
    status: reply.status,
    requestId: reply.headers.get("x-request-id") ?? undefined,
    rateLimit: parseRateLimit(reply.headers),
    checkAfterSeconds: wholeNumberHeader(reply.headers, "check-after"),
    isWaitApplied: /(^|[,;\s])wait=/i.test(reply.headers.get("preference-applied") ?? ""),
    location: reply.headers.get("location") ?? undefined,
  };
}

/** The body as a JSON object. Throws `ApiError` (`unexpected_response`) on anything else. */
export function objectBody<T extends object>(reply: Reply): T {
  const value = parseJson(reply.text);
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw unexpectedBody(reply, "a JSON object");
  return value as T;
}

/** The body as a JSON array. Throws `ApiError` (`unexpected_response`) on anything else. */
export function arrayBody<T>(reply: Reply): T[] {
  const value = parseJson(reply.text);
  if (!Array.isArray(value)) throw unexpectedBody(reply, "a JSON array");
  return value as T[];
}

/** The order that `location` names. Throws `ApiError` when there is none. */
export const placedOrder = (reply: Reply): PlacedOrder => answerOf(reply, { order_code: idFromLocation(reply) });

/** The error for a status outside 200–299. */
export function apiErrorOf(reply: Reply): ApiError {
  const body = parseJson(reply.text) as Partial<Record<string, unknown>> | null | undefined;
  const inForm = typeof body?.error_code === "string";
  return new ApiError({
    status: reply.status,
    errorCode: inForm ? (body.error_code as ErrorCode) : unexpectedResponseCode,
    errorText: inForm
      ? String(body.error_text ?? "")
      : `HTTP ${reply.status} without an error of the service: another service may be answering at this address`,
    validationErrors: parseValidationErrors(body?.validation_errors),
    requestId: reply.headers.get("x-request-id") ?? undefined,
    retryAfterSeconds: wholeNumberHeader(reply.headers, "retry-after"),
    location: reply.headers.get("location") ?? undefined,
  });
}

/** The value of a numeric header; anything else counts as missing. */
export function wholeNumberHeader(headers: Headers, name: string): number | undefined {
  const text = headers.get(name);
  return text !== null && /^[0-9]{1,9}$/.test(text) ? Number(text) : undefined;
}

/** The last segment of the `location` path: an order code or an identifier. Throws `ApiError` when there is none. */
export function idFromLocation(reply: Reply): string {
  const segment = reply.headers.get("location")?.split("/").at(-1);
  if (!segment) throw unexpectedBody(reply, "a location header");
  try {
    return decodeURIComponent(segment);
  } catch {
    throw unexpectedBody(reply, "a readable location header");
  }
}

function unexpectedBody(reply: Reply, wanted: string): ApiError {
  return new ApiError({
    status: reply.status,
    errorCode: unexpectedResponseCode,
    errorText: `the answer does not contain ${wanted}: check that the URL is the API's`,
    requestId: reply.headers.get("x-request-id") ?? undefined,
  });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function parseRateLimit(headers: Headers): RateLimit | undefined {
  const limit = wholeNumberHeader(headers, "x-ratelimit-limit");
  const usage = wholeNumberHeader(headers, "x-ratelimit-usage");
  const remaining = wholeNumberHeader(headers, "x-ratelimit-remaining");
  const resetSeconds = wholeNumberHeader(headers, "x-ratelimit-reset");
  if (limit === undefined || usage === undefined || remaining === undefined || resetSeconds === undefined) return;
  return { limit, usage, remaining, resetSeconds };
}

function parseValidationErrors(value: unknown): ValidationError[] {
  if (!Array.isArray(value)) return [];
  return value.map((entry) => ({
    errorCode: String(entry?.error_code ?? "") as FieldErrorCode,
    errorText: String(entry?.error_text ?? ""),
    field: String(entry?.field ?? ""),
  }));
}
