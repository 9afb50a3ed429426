<?php

declare(strict_types=1);

namespace Deedhouse;

/** One answer. */
class Answer
{
    public readonly int $status;
    public readonly ?string $requestId;
    /** Missing only when another service answered. */
    public readonly ?RateLimit $rateLimit;
    /** Seconds after which to look again; missing when there is nothing to wait for. */
    public readonly ?int $checkAfterSeconds;
    /** The service holds answers until something changes, so look again at once. */
    public readonly bool $isWaitApplied;
    /** A path, never a URL. */
    public readonly ?string $location;

    /** @param ?array<mixed> $data the API's JSON, unchanged; null for an answer without a body */
    public function __construct(Reply $reply, public readonly ?array $data = null)
    {
        $this->status = $reply->status;
        $this->requestId = $reply->header('x-request-id');
        $this->rateLimit = self::rateLimitOf($reply);
        $this->checkAfterSeconds = $reply->number('check-after');
        $applied = $reply->header('preference-applied') ?? '';
        $this->isWaitApplied = preg_match('/(^|[,;\s])wait=/i', $applied) === 1;
        $this->location = $reply->header('location');
    }

    private static function rateLimitOf(Reply $reply): ?RateLimit
    {
        $names = ['limit', 'usage', 'remaining', 'reset'];
        $values = array_map(static fn (string $name): ?int => $reply->number("x-ratelimit-{$name}"), $names);
        return in_array(null, $values, true) ? null : new RateLimit(...$values);
    }
}
