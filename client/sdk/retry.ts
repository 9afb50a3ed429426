// Decides whether to retry a call, and whether with the same signature. The service frees a nonce when it answers 429
// or 5xx, and answers an identical resend of a committed write with the stored answer. So after those, and after a lost
// connection, the very same request is sent again: it can never count twice. When the nonce stays used, or the signature is
// too old, the request is signed again; a write is still safe, because it keeps its Idempotency-Key.

import { randomInt } from "node:crypto";
import { ApiError, ConnectionError, isTransient } from "./errors.ts";

const backoffBaseMs = 500;
const backoffMsMax = 30_000;
/** For a longer `retry-after` the client does not wait: the caller gets the error with the number. */
const retryDelayMsMax = 120_000;
// The service may refuse timestamps at or below the second in which it started, so the new timestamp must be a later
// second.
const timestampRetryDelayMs = 1_100;
// The service takes signatures of the last five minutes; the last of them is for the way, and for clocks that disagree.
const signatureAgeMsMax = 240_000;

/** How to retry a failed call. */
export interface RetryPlan {
  delayMs: number;
  signature: "same" | "new";
}

/** A retry that is about to happen, for display. */
export interface RetryNotice extends RetryPlan {
  error: ApiError | ConnectionError;
  /** 1 for the first retry. */
  retry: number;
}

/**
 * What to do after `error`; undefined when it is final. `previous` is the failure before it in the same call,
 * `retriesDone` the number of retries so far, `signatureAgeMs` how long ago the request was signed.
 */
export function planRetry(
  error: ApiError | ConnectionError,
  previous: ApiError | ConnectionError | undefined,
  retriesDone: number,
  signatureAgeMs: number,
): RetryPlan | undefined {
  const whileItIsFresh = (delayMs: number): RetryPlan => {
    return { delayMs, signature: signatureAgeMs + delayMs <= signatureAgeMsMax ? "same" : "new" };
  };
  if (error instanceof ConnectionError) return isTransient(error) ? whileItIsFresh(backoffMs(retriesDone)) : undefined;
  if (isTransient(error) || error.status === 408) {
    const delayMs = error.retryAfterSeconds === undefined ? backoffMs(retriesDone) : error.retryAfterSeconds * 1000;
    return delayMs <= retryDelayMsMax ? whileItIsFresh(delayMs) : undefined;
  }
  switch (error.errorCode) {
    case "authorization_nonce_reused":
    case "idempotency_in_progress":
      return { delayMs: backoffMs(retriesDone), signature: "new" };
    case "authorization_timestamp_invalid":
      // The header may have expired while it was resent; two refusals in a row mean that the clocks disagree.
      if (previous instanceof ApiError && previous.errorCode === error.errorCode) return undefined;
      return { delayMs: timestampRetryDelayMs, signature: "new" };
    default:
      return undefined;
  }
}

/** Doubles from half a second to 30 s. The second half is random, so that clients do not return in step. */
function backoffMs(retriesDone: number): number {
  const halfMs = Math.min(backoffMsMax, backoffBaseMs * 2 ** retriesDone) / 2;
  return halfMs + randomInt(halfMs + 1);
}
