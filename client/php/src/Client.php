<?php

declare(strict_types=1);

namespace Deedhouse;

/**
 * All calls of the API by collection, for one service and key.
 *
 * Every call throws an `ApiException` with a code, a `NoAnswerException` when no answer came, or an `\InvalidArgumentException`
 * when an argument is malformed. In addition to the codes that a call names, every call can get those of any request, such as
 * `rate_limit_exceeded`.
 *
 * Each write has an `Idempotency-Key`. Give your own `idempotencyKey` to be safe across restarts of your program: a repeat with the
 * same key and data within seven days is the same write, and gets the same answer.
 */
final class Client
{
    public const VERSION = '0.1.0';

    public readonly OwnAccount $account;
    public readonly Domains $domains;
    public readonly Events $events;
    public readonly Hosting $hosting;
    public readonly Orders $orders;
    public readonly Renewals $renewals;
    public readonly Signatures $signatures;
    public readonly Webhooks $webhooks;
    public readonly Zones $zones;
    private readonly Transport $transport;

    /**
     * @param string $url the API's, with or without a version: `https://api.example.com/v1`
     * @param string $apiSecret used for signing, never sent
     * @param float $timeoutSeconds for one attempt; for a status that the service holds, the holding time is added
     * @param int $retriesMax attempts after the first
     * @param ?string $caFile replaces the system's certificate authorities; certificates are always checked
     * @param ?string $userAgent names your program
     * @param ?\Closure(RetryNotice): void $onRetry called before each retry
     * @throws \InvalidArgumentException when the URL or the key is malformed
     */
    public function __construct(
        string $url,
        string $apiKey,
        #[\SensitiveParameter] string $apiSecret,
        float $timeoutSeconds = 30,
        int $retriesMax = 4,
        ?string $caFile = null,
        ?string $userAgent = null,
        ?\Closure $onRetry = null,
        ?Clock $clock = null,
    ) {
        $own = 'deedhouse-php/' . self::VERSION;
        $this->transport = new Transport(
            url: $url,
            apiKey: $apiKey,
            apiSecret: $apiSecret,
            timeoutSeconds: $timeoutSeconds,
            retriesMax: $retriesMax,
            caFile: $caFile,
            userAgent: $userAgent === null ? $own : "{$userAgent} {$own}",
            onRetry: $onRetry,
            clock: $clock ?? new SystemClock(),
        );
        $this->account = new OwnAccount($this->transport);
        $this->domains = new Domains($this->transport);
        $this->events = new Events($this->transport);
        $this->hosting = new Hosting($this->transport);
        $this->orders = new Orders($this->transport);
        $this->renewals = new Renewals($this->transport);
        $this->signatures = new Signatures($this->transport);
        $this->webhooks = new Webhooks($this->transport);
        $this->zones = new Zones($this->transport);
    }

    /** Closes the connection; the next call opens another one. */
    public function close(): void
    {
        $this->transport->close();
    }
}
