<?php

declare(strict_types=1);

namespace Deedhouse;

/** A retry that is about to happen, for display. */
final class RetryNotice
{
    /**
     * @param bool $isSignedAgain it signs again, instead of sending the identical request
     * @param int $retry 1 for the first retry
     */
    public function __construct(
        public readonly float $delaySeconds,
        public readonly bool $isSignedAgain,
        public readonly DeedhouseException $error,
        public readonly int $retry,
    ) {
    }
}
