<?php

declare(strict_types=1);

namespace Deedhouse;

/** The service refused the request. The code is stable; the text says what to do and may change. */
final class ApiException extends DeedhouseException
{
    /** The code of an answer that is not in the service's format, such as a proxy's page. */
    public const UNEXPECTED_RESPONSE = 'unexpected_response';

    /**
     * @param list<FieldError> $errors the fields that the service refused
     * @param ?string $requestId give it to the operator: the service's logs contain it
     * @param ?string $location a path that the refusal points to, such as the order that has the name
     */
    public function __construct(
        public readonly int $status,
        public readonly string $errorCode,
        public readonly string $errorText,
        public readonly array $errors = [],
        public readonly ?string $requestId = null,
        public readonly ?int $retryAfterSeconds = null,
        public readonly ?string $location = null,
    ) {
        parent::__construct("{$errorText} ({$errorCode}, HTTP {$status})");
    }
}
