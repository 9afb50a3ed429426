<?php

declare(strict_types=1);

namespace Deedhouse;

/** Sends calls: signed, and with retries. */
final class Transport
{
    private readonly Connection $connection;

    /**
     * @param ?\Closure(RetryNotice): void $onRetry
     * @throws \InvalidArgumentException when a setting cannot be right
     */
    public function __construct(
        string $url,
        private readonly string $apiKey,
        #[\SensitiveParameter] private readonly string $apiSecret,
        private readonly float $timeoutSeconds,
        private readonly int $retriesMax,
        ?string $caFile,
        private readonly string $userAgent,
        private readonly ?\Closure $onRetry,
        public readonly Clock $clock,
    ) {
        if (preg_match('/^[0-9a-f]{32}$/D', $apiKey) !== 1) {
            throw new \InvalidArgumentException('an API key is 32 lower-case hex digits');
        }
        if ($apiSecret === '') {
            throw new \InvalidArgumentException('the API secret is empty');
        }
        if (preg_match('/^[\x21-\x7e]+( [\x21-\x7e]+)*$/D', $userAgent) !== 1) {
            throw new \InvalidArgumentException('a user agent has printable ASCII characters');
        }
        $this->connection = new Connection($url, $caFile);
    }

    /** The path of a resource, with its segments encoded. */
    public static function path(string ...$segments): string
    {
        foreach ($segments as $segment) {
            // These would silently become another resource.
            if (in_array($segment, ['', '.', '..'], true)) {
                throw new \InvalidArgumentException("\"{$segment}\" is not a name");
            }
        }
        return implode('', array_map(static fn (string $segment): string => '/' . rawurlencode($segment), $segments));
    }

    /** @param array<string, string|int|bool|null> $values those that are null are left out */
    public function query(array $values): string
    {
        $given = array_filter($values, static fn (mixed $value): bool => $value !== null);
        $texts = array_map(static fn (mixed $value): string => is_bool($value) ? ($value ? 'true' : 'false') : (string) $value, $given);
        return http_build_query($texts, '', '&', PHP_QUERY_RFC3986);
    }

    /**
     * Sends a call, and returns a 2xx.
     *
     * @param ?array<mixed> $body sent as JSON; fields that are null are left out
     * @param ?int $waitSeconds how long the service may hold the answer
     * @param ?\Closure(string): void $receive asks for CSV, and gets it in parts
     * @param ?string $zoneFile sent in place of a body; an empty one asks for a zone file
     * @param ?string $ifMatch writes only over the version that has this etag
     * @throws ApiException
     * @throws NoAnswerException
     */
    public function send(
        string $method,
        string $path,
        string $query = '',
        ?array $body = null,
        ?string $idempotencyKey = null,
        ?int $waitSeconds = null,
        ?\Closure $receive = null,
        ?string $zoneFile = null,
        ?string $ifMatch = null,
    ): Reply {
        $target = $this->connection->path . $path . ($query === '' ? '' : "?{$query}");
        $content = $zoneFile ?? self::json($body);
        $headers = $this->headers($method, $content !== '', $idempotencyKey, $waitSeconds);
        $headers['accept'] = $receive === null ? 'application/json' : 'text/csv';
        if ($zoneFile !== null) {
            $headers[$content === '' ? 'accept' : 'content-type'] = 'text/dns';
        }
        if ($ifMatch !== null) {
            $headers['if-match'] = $ifMatch;
        }
        $timeoutSeconds = $this->timeoutSeconds + ($waitSeconds ?? 0);
        $headers['authorization'] = $this->sign($method, $target, $content);
        $previous = null;
        for ($retriesDone = 0;; $retriesDone++) {
            try {
                $reply = $this->connection->exchange($method, $target, $headers, $content, $timeoutSeconds, $receive);
                return $reply->status >= 200 && $reply->status <= 299 ? $reply : throw $reply->error();
            } catch (ApiException | NoAnswerException $error) {
                $plan = $retriesDone < $this->retriesMax ? RetryPlan::after($error, $previous, $retriesDone) : null;
                if ($plan === null) {
                    throw $error;
                }
                $previous = $error;
            }
            if ($this->onRetry !== null) {
                ($this->onRetry)(new RetryNotice($plan->delaySeconds, $plan->isSignedAgain, $previous, $retriesDone + 1));
            }
            $this->clock->sleep($plan->delaySeconds);
            if ($plan->isSignedAgain) {
                $headers['authorization'] = $this->sign($method, $target, $content);
            }
        }
    }

    public function close(): void
    {
        $this->connection->close();
    }

    /** @return array<string, string> */
    private function headers(string $method, bool $hasBody, ?string $idempotencyKey, ?int $waitSeconds): array
    {
        $headers = ['user-agent' => $this->userAgent];
        if ($hasBody) {
            $headers['content-type'] = 'application/json';
        }
        if ($method !== 'GET') {
            $key = $idempotencyKey ?? Signature::newIdempotencyKey();
            if (preg_match('/^[\x21-\x7e]{1,255}$/D', $key) !== 1) {
                throw new \InvalidArgumentException('an idempotency key has 1 to 255 printable ASCII characters without spaces');
            }
            $headers['idempotency-key'] = $key;
        }
        if ($waitSeconds !== null && $waitSeconds > 0) {
            $headers['prefer'] = "wait={$waitSeconds}";
        }
        return $headers;
    }

    private function sign(string $method, string $target, string $body): string
    {
        $timestamp = (int) $this->clock->now();
        $signature = new Signature($this->apiKey, $this->apiSecret, $method, $target, $body, Signature::newNonce(), $timestamp);
        return $signature->authorization();
    }

    /** @param ?array<mixed> $body a list is sent as one */
    private static function json(?array $body): string
    {
        if ($body === null) {
            return '';
        }
        if (array_is_list($body)) {
            return json_encode($body, JSON_THROW_ON_ERROR | JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_SLASHES);
        }
        $given = array_filter($body, static fn (mixed $value): bool => $value !== null);
        return json_encode((object) $given, JSON_THROW_ON_ERROR | JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_SLASHES);
    }
}
