<?php

declare(strict_types=1);

namespace Deedhouse\Panel;

use Deedhouse\ApiException;

/**
 * The renewal of one paid term. What is paid for is the years after the expiry date that the panel shows, so a repeat for that date
 * buys nothing, and the next term's renewal buys again.
 */
final class Renewal
{
    /** A panel's date and the registry's differ by their time zones, or by the delay of the registration. */
    private const DATES_DIFFER_DAYS_MAX = 2;

    /**
     * @param string $entry the panel's id of what is renewed
     * @param string $paidFrom the expiry date before the renewal as the panel shows it
     */
    public function __construct(
        private readonly Session $session,
        private readonly string $entry,
        private readonly string $name,
        private readonly int $years,
        private readonly string $paidFrom,
    ) {
        if (preg_match('/^[1-9]\d{3}-\d\d-\d\d$/D', $paidFrom) !== 1) {
            throw new Refusal("The panel has no expiry date for {$name}. Synchronise the domain, then renew it.");
        }
    }

    /** @throws \Deedhouse\DeedhouseException @throws Refusal */
    public function complete(): void
    {
        $current = $this->needed();
        if ($current === null) {
            return;
        }
        $attempt = $this->session->failures($this->name, 'renew');
        $key = $this->session->key('renew', [$this->entry, $this->name, $this->paidFrom, $this->years, $attempt]);
        $send = fn (string $key) => $this->session->client->renewDomain($this->name, $this->years, $current, $key);
        try {
            $this->session->finished($this->session->once($key, $send));
        } catch (ApiException $refused) {
            // Another process has renewed it since the look above.
            if ($refused->errorCode !== 'domain_expiration_changed' || $this->needed() !== null) {
                throw $refused;
            }
        }
    }

    /** The registry's date that the paid years begin at; null when they are there already. */
    private function needed(): ?string
    {
        $current = substr((string) $this->session->client->getDomain($this->name)->data['expiration_date'], 0, 10);
        if (abs(self::days($this->paidFrom, $current)) <= self::DATES_DIFFER_DAYS_MAX) {
            return $current;
        }
        $paidUntil = (new \DateTimeImmutable($this->paidFrom))->modify("+{$this->years} years")->format('Y-m-d');
        if (self::days($paidUntil, $current) >= -self::DATES_DIFFER_DAYS_MAX) {
            return null;
        }
        throw new Refusal(
            "Deedhouse shows {$current} as the expiry date of {$this->name}, the panel {$this->paidFrom}. "
            . 'Synchronise the domain, and check what was paid for, before you renew it.',
        );
    }

    private static function days(string $from, string $to): int
    {
        return (int) (new \DateTimeImmutable($from))->diff(new \DateTimeImmutable($to))->format('%r%a');
    }
}
