<?php

declare(strict_types=1);

namespace Deedhouse;

/** The library's source of time. Tests pass one that does not wait. */
interface Clock
{
    /** The time in unix seconds, for the signature. */
    public function now(): float;

    /** Seconds that never go back, for deadlines. */
    public function monotonic(): float;

    public function sleep(float $seconds): void;
}
