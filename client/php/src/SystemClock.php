<?php

declare(strict_types=1);

namespace Deedhouse;

/** The clock of this machine. */
final class SystemClock implements Clock
{
    public function now(): float
    {
        return microtime(true);
    }

    public function monotonic(): float
    {
        return hrtime(true) / 1e9;
    }

    public function sleep(float $seconds): void
    {
        if ($seconds > 0) {
            usleep((int) ($seconds * 1e6));
        }
    }
}
