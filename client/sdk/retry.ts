// When a call is sent again, and whether with the same signature. The service frees a nonce when it answers 429 or 5xx
// and answers the identical resend of a committed write with the stored answer, so after those, and after a lost
// connection, the very same request goes out again: it can never count twice. Where the nonce stays used the request
// is signed anew; a POST is still safe then, because it keeps its Idempotency-Key.

import { randomInt } from "node:crypto";
import { ApiError, ConnectionError, isTransient } from "./errors.ts";

const backoffBaseMs = 500;
const backoffMsMax = 30_000;
/** A longer `retry-after` is not waited for: the caller gets the error and the number. */
const retryDelayMsMax = 120_000;
// The service may refuse timestamps at or below the second it started in, so the new one must be a later second.
const timestampRetryDelayMs = 1_100;

/** How to send a failed call again. */
export interface RetryPlan {
  delayMs: number;
  signature: "same" | "new";
}

/** A retry about to happen, for whoever wants to show it. */
export interface RetryNotice extends RetryPlan {
  error: ApiError | ConnectionError;
  /** 1 for the first retry. */
  retry: number;
}

/**
 * What to do after `error`; nothing when it is final.
 * `previous` is the failure before it in the same call, `retriesDone` how many retries lie behind.
 */
export function planRetry(
  error: ApiError | ConnectionError,
  previous: ApiError | ConnectionError | undefined,
  retriesDone: number,
): RetryPlan | undefined {
  if (error instanceof ConnectionError) return { delayMs: backoffMs(retriesDone), signature: "same" };
  if (isTransient(error) || error.status === 408) {
    const delayMs = error.retryAfterSeconds === undefined ? backoffMs(retriesDone) : error.retryAfterSeconds * 1000;
    return delayMs <= retryDelayMsMax ? { delayMs, signature: "same" } : undefined;
  }
  switch (error.errorCode) {
    case "authorization_nonce_reused":
    case "idempotency_in_progress":
      return { delayMs: backoffMs(retriesDone), signature: "new" };
    case "authorization_timestamp_invalid":
      // The header may have grown old while it was resent; refused twice in a row means that the clocks disagree.
      if (previous instanceof ApiError && previous.errorCode === error.errorCode) return undefined;
      return { delayMs: timestampRetryDelayMs, signature: "new" };
    default:
      return undefined;
  }
}

/** Doubles from half a second to 30 s, of which the second half is random, so that clients do not come back in step. */
function backoffMs(retriesDone: number): number {
  const halfMs = Math.min(backoffMsMax, backoffBaseMs * 2 ** retriesDone) / 2;
  return halfMs + randomInt(halfMs + 1);
}
