<?php

declare(strict_types=1);

namespace Deedhouse;

/** A field that the service refused. */
final class FieldError
{
    public function __construct(
        public readonly string $errorCode,
        public readonly string $errorText,
        public readonly string $field,
    ) {
    }
}
