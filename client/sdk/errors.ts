/** One field that the service refused, from `validation_errors`. */
export interface ValidationError {
  errorCode: string;
  errorText: string;
  field: string;
}

/** The code of an answer that is not in the service's format, such as a proxy's HTML page. */
export const unexpectedResponseCode = "unexpected_response";

export interface ApiErrorDetails {
  status: number;
  errorCode: string;
  errorText: string;
  validationErrors?: ValidationError[];
  requestId?: string | undefined;
  retryAfterSeconds?: number | undefined;
  location?: string | undefined;
}

/** The service refused the request. `errorCode` is stable; `errorText` says what to do and may change. */
export class ApiError extends Error {
  readonly status: number;
  readonly errorCode: string;
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
  constructor(message: string, cause: unknown) {
    super(message, { cause });
    this.name = "ConnectionError";
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

/** Whether the same call may succeed later unchanged: no answer, too many requests, or a fault of the service. */
export function isTransient(error: unknown): boolean {
  return (
    error instanceof ConnectionError || (error instanceof ApiError && (error.status === 429 || error.status >= 500))
  );
}
