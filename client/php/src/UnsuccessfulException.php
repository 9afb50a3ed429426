<?php

declare(strict_types=1);

namespace Deedhouse;

/** An order or the creation of an account has ended, but not with success. */
final class UnsuccessfulException extends DeedhouseException
{
    /** The status with which it ended, such as `FailedValidation`. */
    public readonly string $status;

    /** @param array<string, mixed> $outcome the order or the account, as the service shows it */
    public function __construct(string $name, public readonly array $outcome)
    {
        $this->status = (string) ($outcome['status'] ?? '');
        $reason = $outcome['error_text'] ?? null;
        parent::__construct("{$name} ended as {$this->status}" . ($reason === null ? '' : ": {$reason}"));
    }
}
