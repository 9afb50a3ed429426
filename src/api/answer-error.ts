import { JournalUnavailable } from "#api/replay/replay.ts";
import { DatabaseUnavailable, LockTimeout } from "#db/errors.ts";
import { ApiError, type ErrorCode, unavailable } from "#errors.ts";
import type { Log } from "#lib/log.ts";
import { measure } from "#lib/measure/measure.ts";
import type { Answer } from "#use-case/use-case.ts";

const databaseRetrySeconds = 5;
/** What holds a row for longer than a moment has ended soon. */
const lockRetrySeconds = 1;
const diskRetrySeconds = 5;

/** Errors that any request can get, whatever its use case. */
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

/** The others are measured where they are counted: `tooManyRequests`. */
const refusalReasons: Partial<Record<ErrorCode, string>> = {
  auth_authorization_header_invalid_format: "signature",
  authorization_hmac_invalid: "signature",
  authorization_timestamp_invalid: "timestamp",
  authorization_nonce_reused: "nonce",
  authorization_ip_not_allowed: "address",
  authorization_scope_missing: "scope",
};

/** A client that leaves early is no failure. */
export function logBrokenStream(log: Log, error: NodeJS.ErrnoException): void {
  if (error.code === "ERR_STREAM_PREMATURE_CLOSE") return;
  const fields = error instanceof DatabaseUnavailable ? { reason: error.message } : { err: error };
  log.error(fields, "an answer broke off, and its connection was cut");
}

/**
 * Turns a thrown error into an answer. An unexpected error is logged; the client learns only that something failed.
 * @param log of the request
 * @param listed the codes that the use case may answer beyond those of the edge
 */
export function answerError(log: Log, error: unknown, listed: readonly ErrorCode[]): Answer {
  if (error instanceof ApiError && (listed.includes(error.code) || edgeErrors.includes(error.code))) {
    const reason = refusalReasons[error.code];
    if (reason !== undefined) measure("http_refusals_total", { reason });
    return { status: error.status, headers: error.headers, body: error.body() };
  }
  if (error instanceof LockTimeout) {
    log.info({ reason: error.message }, "a request waited too long for others");
    return answerError(log, unavailable(lockRetrySeconds), listed);
  }
  if (error instanceof DatabaseUnavailable) {
    log.warn({ reason: error.message }, "the database is unavailable");
    return answerError(log, unavailable(databaseRetrySeconds), listed);
  }
  if (error instanceof JournalUnavailable) {
    log.error({ reason: error.message }, "the request's nonce cannot be stored");
    return answerError(log, unavailable(diskRetrySeconds), listed);
  }
  log.error({ err: error }, "a request failed unexpectedly");
  return answerError(log, new ApiError("internal_error"), listed);
}
