<?php

declare(strict_types=1);

namespace Deedhouse;

/** The reseller's request budget. */
final class RateLimit
{
    /** @param int $resetSeconds seconds until the full budget is available again */
    public function __construct(
        public readonly int $limit,
        public readonly int $usage,
        public readonly int $remaining,
        public readonly int $resetSeconds,
    ) {
    }
}
