<?php

declare(strict_types=1);

namespace Deedhouse;

/**
 * The service was unreachable, or its answer was incomplete or late. A write may have been carried out: repeat it with the same
 * idempotency key.
 */
final class NoAnswerException extends DeedhouseException
{
    /** @param bool $isPermanent another attempt would fail, too: the certificate is not trusted */
    public function __construct(string $message, public readonly bool $isPermanent = false)
    {
        parent::__construct($message);
    }
}
