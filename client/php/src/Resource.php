<?php

declare(strict_types=1);

namespace Deedhouse;

/** The calls about one collection of the API. */
abstract class Resource
{
    public function __construct(protected readonly Transport $transport)
    {
    }

    /** An answer with a JSON object. */
    protected function read(string $path, ?int $waitSeconds = null): Answer
    {
        $reply = $this->transport->send('GET', $path, waitSeconds: $waitSeconds);
        return new Answer($reply, $reply->object());
    }

    /** @param ?array<string, mixed> $body */
    protected function write(string $method, string $path, ?string $idempotencyKey, ?array $body = null): Answer
    {
        return new Answer($this->transport->send($method, $path, body: $body, idempotencyKey: $idempotencyKey));
    }

    /** @param ?array<string, mixed> $body */
    protected function order(string $method, string $path, ?string $idempotencyKey, ?array $body = null, string $query = ''): PlacedOrder
    {
        return new PlacedOrder($this->transport->send($method, $path, $query, $body, $idempotencyKey));
    }
}
