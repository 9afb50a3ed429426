<?php

declare(strict_types=1);

namespace Deedhouse\Panel;

use Deedhouse\ApiException;
use Deedhouse\Client;
use Deedhouse\NoAnswerException;
use Deedhouse\PlacedOrder;
use Deedhouse\SystemClock;
use Deedhouse\UnsuccessfulException;
use Deedhouse\WaitTimeoutException;

/** The API as a panel uses it: within the time of a web request, and with keys that make a repeat harmless. */
final class Session
{
    /** A web server ends a request after 30 to 60 s, and a panel's action makes several calls. */
    private const CALL_SECONDS_MAX = 15;
    public const WAIT_SECONDS_DEFAULT = 20;
    public const WAIT_SECONDS_MAX = 600;
    /** Each look counts towards the rate limit. */
    private const LOOK_SECONDS = 0.5;
    /** Refusals that say nothing about the request, so the service has not stored them. */
    private const NOT_STORED = [401, 408, 429];

    public readonly Client $client;
    private readonly float $waitSeconds;

    /** @param string $panel tells panels that share an account apart; it is part of every key */
    public function __construct(
        string $url,
        string $apiKey,
        #[\SensitiveParameter] private readonly string $apiSecret,
        private readonly string $panel,
        ?string $caFile = null,
        int|string|null $waitSeconds = null,
    ) {
        $seconds = is_numeric($waitSeconds) ? (float) $waitSeconds : self::WAIT_SECONDS_DEFAULT;
        $this->waitSeconds = max(1.0, min(self::WAIT_SECONDS_MAX, $seconds));
        // No retries: a service that asks for two minutes' patience would outlast the web request. The panel repeats instead.
        $this->client = new Client(
            trim($url),
            trim($apiKey),
            trim($apiSecret),
            timeoutSeconds: self::CALL_SECONDS_MAX,
            retriesMax: 0,
            caFile: $caFile === null || trim($caFile) === '' ? null : trim($caFile),
            userAgent: 'deedhouse-panel',
        );
    }

    /**
     * The same words give the same key, whichever process asks, so a repeat is the same write.
     *
     * @param list<string|int> $words what is paid for, and the attempt
     */
    public function key(string $kind, array $words): string
    {
        return "{$kind}-" . hash('sha256', json_encode([$this->panel, ...$words], JSON_THROW_ON_ERROR));
    }

    /** A word of a key for what nobody may guess from the key. */
    public function digest(#[\SensitiveParameter] string $text): string
    {
        return hash_hmac('sha256', $text, $this->apiSecret);
    }

    /**
     * Sends a write under its key. The service answers a repeat of a refused write with the same refusal for a week, although its
     * reason may be gone. A refused write ordered nothing, so it is sent once more under another key; all processes of one minute
     * share that key, too.
     *
     * @template T
     * @param \Closure(string): T $send
     * @return T
     */
    public function once(string $key, \Closure $send): mixed
    {
        try {
            return $send($key);
        } catch (ApiException $refused) {
            $isStored = $refused->status < 500 && !in_array($refused->status, self::NOT_STORED, true);
            if (!$isStored || $refused->location !== null || $refused->errorCode === 'idempotency_in_progress') {
                throw $refused;
            }
            return $send($key . '-' . intdiv(time(), 60));
        }
    }

    /** How many orders of this name and kind have failed for good: the number of the next attempt. */
    public function failures(string $name, string $kind): int
    {
        $total = 0;
        foreach (['Errors', 'FailedValidation', 'Cancelled'] as $status) {
            $total += $this->client->listOrders($name, $kind, $status, take: 1)->total ?? 0;
        }
        return $total;
    }

    /** How many registrations of this name have ended, whether well or not. Only the newest can still be in progress. */
    public function endedRegistrations(string $name): int
    {
        $page = $this->client->listOrders($name, 'create', take: 1);
        $isOpen = in_array($page->data[0]['status'] ?? null, Names::OPEN, true);
        return ($page->total ?? 0) - ($isOpen ? 1 : 0);
    }

    /**
     * @return array<string, mixed> the order as it ended
     * @throws UnsuccessfulException
     * @throws WaitTimeoutException when it is still in progress
     */
    public function finished(PlacedOrder|string $order): array
    {
        return $this->client->finished($order, $this->waitSeconds)->data ?? [];
    }

    /** @return array<string, mixed> the account that is ready */
    public function provisioned(string $identifier): array
    {
        return $this->client->provisioned($identifier, $this->waitSeconds)->data ?? [];
    }

    /**
     * Looks again and again, for what the service holds no answer for.
     *
     * @param \Closure(): bool $isDone
     * @return bool whether it was done within the time to wait
     */
    public function waitUntil(\Closure $isDone): bool
    {
        $clock = new SystemClock();
        $deadline = $clock->monotonic() + $this->waitSeconds;
        while (!$isDone()) {
            if ($clock->monotonic() >= $deadline) {
                return false;
            }
            $clock->sleep(self::LOOK_SECONDS);
        }
        return true;
    }

    /** What went wrong, in words for the panel's operator. */
    public static function say(\Throwable $error): string
    {
        // curl itself sends a request again when a connection that it has kept ends without an answer.
        $isLost = $error instanceof NoAnswerException
            || ($error instanceof ApiException && $error->errorCode === 'authorization_nonce_reused');
        return match (true) {
            $isLost => "Deedhouse did not answer ({$error->getMessage()}). Repeat this action later: "
                . 'it continues what was ordered, and orders nothing twice.',
            $error instanceof ApiException => self::sayRefused($error),
            $error instanceof WaitTimeoutException => "Deedhouse accepted this, and it is still in progress ({$error->lastStatus}). "
                . 'Repeat this action later to see its end: nothing is ordered twice.',
            $error instanceof UnsuccessfulException => self::sayFailed($error),
            $error instanceof Refusal, $error instanceof \InvalidArgumentException => $error->getMessage(),
            default => 'The module failed: ' . $error->getMessage(),
        };
    }

    private static function sayRefused(ApiException $error): string
    {
        $fields = array_map(static fn ($one): string => "{$one->field}: {$one->errorText}", $error->errors);
        $request = $error->requestId === null ? '' : ", request {$error->requestId}";
        $text = $fields === [] ? $error->errorText : implode(' ', $fields);
        if ($error->status === 429 && $error->retryAfterSeconds !== null) {
            $text .= " Repeat this action in {$error->retryAfterSeconds} s.";
        }
        return "Deedhouse refused this: {$text} ({$error->errorCode}{$request})";
    }

    private static function sayFailed(UnsuccessfulException $error): string
    {
        $reason = (string) ($error->outcome['error_text'] ?? 'it gave no reason.');
        $next = isset($error->outcome['next']) ? ' ' . (string) $error->outcome['next'] : '';
        return "Deedhouse could not carry this out ({$error->status}): {$reason}{$next}";
    }
}
