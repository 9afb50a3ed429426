import type { components } from "./openapi-types.ts";
import type { HostingAccount, Order } from "./types.ts";

type ErrorBody = components["schemas"]["Error"];

/** The code of an answer that is not in the service's format, such as a proxy's HTML page. */
export const unexpectedResponseCode = "unexpected_response";

/** Why the service refused. A later service can have codes that this release does not know: give a `switch` a default. */
export type ErrorCode = ErrorBody["error_code"] | typeof unexpectedResponseCode;
export type FieldErrorCode = NonNullable<ErrorBody["validation_errors"]>[number]["error_code"];

/** One field that the service refused, from `validation_errors`. */
export interface ValidationError {
  errorCode: FieldErrorCode;
  errorText: string;
  field: string;
}

export interface ApiErrorDetails {
  status: number;
  errorCode: ErrorCode;
  errorText: string;
  validationErrors?: ValidationError[];
  requestId?: string | undefined;
  retryAfterSeconds?: number | undefined;
  location?: string | undefined;
}

/** The service refused the request. `errorCode` is stable; `errorText` says what to do and may change. */
export class ApiError extends Error {
  readonly status: number;
  readonly errorCode: ErrorCode;
  readonly errorText: string;
  readonly validationErrors: readonly ValidationError[];
  /** Give it to the operator: the service's logs contain it. */
  readonly requestId: string | undefined;
  readonly retryAfterSeconds: number | undefined;
  /** A path that the refusal points to, such as the order that already has the name. */
  readonly location: string | undefined;

  constructor(details: ApiErrorDetails) {
    super(`${details.errorText} (${details.errorCode}, HTTP ${details.status})`);
    this.name = "ApiError";
    this.status = details.status;
    this.errorCode = details.errorCode;
    this.errorText = details.errorText;
    this.validationErrors = details.validationErrors ?? [];
    this.requestId = details.requestId;
    this.retryAfterSeconds = details.retryAfterSeconds;
    this.location = details.location;
  }
}

/** No answer: the service was unreachable, or the answer was incomplete or late. */
export class ConnectionError extends Error {
  /** Another attempt would also fail: the service's certificate is not trusted. */
  readonly isPermanent: boolean;

  constructor(message: string, cause: unknown, isPermanent = false) {
    super(message, { cause });
    this.name = "ConnectionError";
    this.isPermanent = isPermanent;
  }
}

/** The waiting time ran out while the service was still working. Nothing is lost; look again later. */
export class WaitTimeoutError extends Error {
  /** The last status seen, such as `Processing`. */
  readonly lastStatus: string;
  /** Seconds until the service expects news. */
  readonly checkAfterSeconds: number | undefined;

  constructor(lastStatus: string, checkAfterSeconds: number | undefined) {
    super(`still ${lastStatus} when the waiting time ran out`);
    this.name = "WaitTimeoutError";
    this.lastStatus = lastStatus;
    this.checkAfterSeconds = checkAfterSeconds;
  }
}

/** An order or the creation of an account has ended, but not with success. */
export class UnsuccessfulError extends Error {
  /** The order or the account, as the service shows it; its `error_text` says why. */
  readonly outcome: Order | HostingAccount;

  /** @param name of the order or the account, for people */
  constructor(name: string, outcome: Order | HostingAccount) {
    super(`${name} ended as ${outcome.status}${outcome.error_text ? `: ${outcome.error_text}` : ""}`);
    this.name = "UnsuccessfulError";
    this.outcome = outcome;
  }
}

/** Whether the same call may succeed later unchanged: no answer, too many requests, or a fault of the service. */
export function isTransient(error: unknown): boolean {
  if (error instanceof ConnectionError) return !error.isPermanent;
  return error instanceof ApiError && (error.status === 429 || error.status >= 500);
}
