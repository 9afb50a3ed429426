<?php

declare(strict_types=1);

namespace Deedhouse;

/** Waits until an order or an account reaches a final status. */
final class Waiting
{
    /** Used when an unfinished answer does not say when to look again, and after a failure. */
    private const CHECK_AFTER_SECONDS_DEFAULT = 10;
    /** Guards against a service that always says 0. */
    private const CHECK_AFTER_SECONDS_MIN = 1;
    /** The longest time for which the service holds an answer (`Prefer: wait=N`). */
    public const HOLD_SECONDS_MAX = 30;

    /**
     * Asks until the status is final. Each request asks the service to hold its answer until something changes. If the service
     * says that it does, a change is followed by another request at once; otherwise `check-after` passes between requests. Only
     * the last request, when the time runs out, may come earlier. Faults are retried until then.
     *
     * @param \Closure(int): Answer $look takes the seconds for which the service may hold its answer
     * @param \Closure(string): bool $isFinal
     * @param ?\Closure(Answer): void $onStatus
     */
    public static function untilFinal(
        \Closure $look,
        \Closure $isFinal,
        float $timeoutSeconds,
        ?int $checkAfterSeconds,
        ?\Closure $onStatus,
        Clock $clock,
    ): Answer {
        $deadline = $clock->monotonic() + $timeoutSeconds;
        $delay = 0.0;
        $latest = null;
        for (;;) {
            $remaining = max(0.0, $deadline - $clock->monotonic());
            // Decided before the sleep: timers may fire a little early.
            $isLastLook = $delay >= $remaining;
            $clock->sleep(min($delay, $remaining));
            $lookedAt = $clock->monotonic();
            try {
                $answer = $look((int) min(self::HOLD_SECONDS_MAX, max(0.0, $deadline - $lookedAt)));
            } catch (ApiException | NoAnswerException $error) {
                if ($isLastLook || !RetryPlan::isTransient($error)) {
                    throw $error;
                }
                $retryAfter = $error instanceof ApiException ? $error->retryAfterSeconds : null;
                $delay = (float) ($retryAfter ?? self::CHECK_AFTER_SECONDS_DEFAULT);
                continue;
            }
            $status = self::status($answer);
            $isNew = $latest === null || $status !== self::status($latest);
            $latest = $answer;
            if ($isNew && $onStatus !== null) {
                $onStatus($answer);
            }
            if ($isFinal($status)) {
                return $answer;
            }
            $checkAfter = $answer->checkAfterSeconds ?? $checkAfterSeconds ?? self::CHECK_AFTER_SECONDS_DEFAULT;
            $due = max(self::CHECK_AFTER_SECONDS_MIN, $checkAfter) - ($clock->monotonic() - $lookedAt);
            $delay = $isNew && $answer->isWaitApplied ? 0.0 : max(0.0, $due);
            if ($isLastLook || $clock->monotonic() >= $deadline) {
                throw new WaitTimeoutException($status, $answer->checkAfterSeconds);
            }
        }
    }

    private static function status(Answer $answer): string
    {
        // A service without statuses shows only accounts that are ready.
        return (string) ($answer->data['status'] ?? 'Ready');
    }
}
