<?php

declare(strict_types=1);

namespace Deedhouse;

/** The waiting time ran out while the service was still working. Nothing is lost; look again later. */
final class WaitTimeoutException extends DeedhouseException
{
    /** @param ?int $checkAfterSeconds seconds until the service expects news */
    public function __construct(public readonly string $lastStatus, public readonly ?int $checkAfterSeconds)
    {
        parent::__construct("still {$lastStatus} when the waiting time ran out");
    }
}
