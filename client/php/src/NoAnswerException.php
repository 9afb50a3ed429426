<?php

declare(strict_types=1);

namespace Deedhouse;

/**
 * The service was unreachable, or its answer was incomplete or late. A write may have been carried out: repeat it with the same
 * idempotency key.
 */
final class NoAnswerException extends DeedhouseException
{
    /** @param bool $isPermanent no retry: the certificate is not trusted, or a list was written in part */
    public function __construct(string $message, public readonly bool $isPermanent = false)
    {
        parent::__construct($message);
    }
}
