<?php

declare(strict_types=1);

namespace Deedhouse;

/** What the service makes of a signature. */
final class Signatures extends Resource
{
    /**
     * What the service builds from a request, and whether your key signed it: POST /signature-check.
     *
     * @param array<string, string> $headers
     * @throws ApiException bad_request
     */
    public function check(string $method, string $target, array $headers, ?string $body = null): Answer
    {
        $request = ['method' => $method, 'target' => $target, 'headers' => (object) $headers, 'body' => $body];
        $reply = $this->transport->send('POST', '/signature-check', body: $request);
        return new Answer($reply, $reply->object());
    }
}
