<?php

declare(strict_types=1);

namespace Deedhouse;

/**
 * How to retry a failed call.
 *
 * The service frees a nonce when it answers 429 or 5xx, and answers an identical resend of a committed write with the stored answer.
 * So after those, and after a lost connection, the very same request is sent again: it can never count twice. When the nonce stays
 * used, or the signature is too old, the request is signed again; a write is still safe, because it keeps its Idempotency-Key.
 */
final class RetryPlan
{
    private const BACKOFF_SECONDS_MIN = 0.5;
    private const BACKOFF_SECONDS_MAX = 30.0;
    /** For a longer retry-after, the caller gets the error with the number. */
    private const RETRY_AFTER_SECONDS_MAX = 120;
    /** The service may refuse timestamps up to the second in which it started, so the new one must be a later second. */
    private const TIMESTAMP_DELAY_SECONDS = 1.1;

    private function __construct(public readonly float $delaySeconds, public readonly bool $isSignedAgain)
    {
    }

    /**
     * @param ?DeedhouseException $previous the failure before it in the same call
     * @return ?self null when the error is final
     */
    public static function after(DeedhouseException $error, ?DeedhouseException $previous, int $retriesDone): ?self
    {
        if ($error instanceof NoAnswerException) {
            return $error->isPermanent ? null : new self(self::backoff($retriesDone), false);
        }
        if (!$error instanceof ApiException) {
            return null;
        }
        if (self::isTransient($error) || $error->status === 408) {
            $delay = $error->retryAfterSeconds ?? self::backoff($retriesDone);
            return $delay > self::RETRY_AFTER_SECONDS_MAX ? null : new self($delay, false);
        }
        if (in_array($error->errorCode, ['authorization_nonce_reused', 'idempotency_in_progress'], true)) {
            return new self(self::backoff($retriesDone), true);
        }
        if ($error->errorCode === 'authorization_timestamp_invalid') {
            // The signature may have become too old while it was resent; two refusals in a row mean that the clocks disagree.
            $isSecond = $previous instanceof ApiException && $previous->errorCode === $error->errorCode;
            return $isSecond ? null : new self(self::TIMESTAMP_DELAY_SECONDS, true);
        }
        return null;
    }

    /** Whether the same call may succeed later unchanged. */
    public static function isTransient(DeedhouseException $error): bool
    {
        if ($error instanceof NoAnswerException) {
            return !$error->isPermanent;
        }
        return $error instanceof ApiException && ($error->status === 429 || $error->status >= 500);
    }

    /** Doubles from half a second to 30 s. The second half is random, so that clients do not return in step. */
    private static function backoff(int $retriesDone): float
    {
        $half = min(self::BACKOFF_SECONDS_MAX, self::BACKOFF_SECONDS_MIN * 2 ** $retriesDone) / 2;
        return $half + $half * random_int(0, 1_000) / 1_000;
    }
}
