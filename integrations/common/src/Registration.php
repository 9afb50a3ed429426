<?php

declare(strict_types=1);

namespace Deedhouse\Panel;

use Deedhouse\ApiException;
use Deedhouse\UnsuccessfulException;
use Deedhouse\WaitTimeoutException;

/** The registration of a name for one entry of a panel. However often it is asked for, it is ordered once. */
final class Registration
{
    private const TAKEN = 'domain_availability_taken';

    private bool $isFollowed = false;

    /**
     * @param string $entry the panel's id of what is registered
     * @param list<string> $nameServers
     * @param array<string, array<string, mixed>> $contacts by role
     * @param ?array{amount: string, currency: string} $agreedPrice the most that a name with a price of its own may cost
     * @param \Closure(): bool $isFreeInPanel whether no other entry of the panel has the name
     */
    public function __construct(
        private readonly Session $session,
        private readonly string $entry,
        private readonly string $name,
        private readonly ?int $years,
        private readonly array $nameServers,
        private readonly array $contacts,
        private readonly bool $willRenew,
        private readonly ?array $agreedPrice,
        private readonly \Closure $isFreeInPanel,
    ) {
    }

    /**
     * @return bool whether the order was there before this call
     * @throws WaitTimeoutException when it is still in progress
     * @throws \Deedhouse\DeedhouseException
     * @throws Refusal
     */
    public function complete(): bool
    {
        $this->session->finished($this->order());
        return $this->isFollowed;
    }

    /** The order that has the name: a new one, or the one that an earlier try of this entry placed. */
    private function order(): string
    {
        // Read before anything is sent: an order that ends in between keeps its number, and is answered again.
        $attempt = $this->session->endedRegistrations($this->name);
        try {
            $checked = $this->session->client->checkRegistration(
                $this->name,
                $this->years,
                $this->nameServers ?: null,
                $this->contacts,
                $this->willRenew,
            )->data ?? [];
            if (isset($checked['order_code'])) {
                return $this->follow((string) $checked['order_code']);
            }
            $this->checkPrice($checked['price'] ?? null);
            $key = $this->session->key('create', [$this->entry, $this->name, $attempt]);
            return $this->session->once($key, fn (string $key): string => $this->send($key));
        } catch (ApiException $refused) {
            if ($refused->errorCode === self::TAKEN && $refused->location !== null) {
                return $this->follow(basename($refused->location));
            }
            throw $refused;
        }
    }

    private function send(string $key): string
    {
        $placed = $this->session->client->registerDomain(
            $this->name,
            $this->years,
            $this->nameServers ?: null,
            $this->contacts,
            $this->willRenew,
            idempotencyKey: $key,
        );
        return $placed->orderCode;
    }

    /** An order of this account for the name is this entry's, unless another entry of the panel has the name. */
    private function follow(string $orderCode): string
    {
        if (!($this->isFreeInPanel)()) {
            throw new Refusal("{$this->name} is registered already, for another entry of this panel.");
        }
        if ($this->leaves()) {
            return $this->order();
        }
        $this->isFollowed = true;
        return $orderCode;
    }

    /** Whether the name was about to be deleted, and is now. A delete that fails leaves the name here. */
    private function leaves(): bool
    {
        $delete = (new Names($this->session))->newestOrder($this->name, 'delete');
        if (!in_array($delete['status'] ?? null, Names::OPEN, true)) {
            return false;
        }
        try {
            $this->session->finished((string) $delete['order_code']);
            return true;
        } catch (UnsuccessfulException) {
            return false;
        }
    }

    /** A name with a price of its own is not bought at the price of an ordinary one. */
    private function checkPrice(mixed $price): void
    {
        if (!is_array($price)) {
            return;
        }
        $text = "{$price['amount']} {$price['currency']}";
        $agreed = $this->agreedPrice;
        if ($agreed === null) {
            throw new Refusal("{$this->name} has a price of its own, {$text}, which nobody has agreed to in this panel.");
        }
        if ($agreed['currency'] !== $price['currency'] || (float) $price['amount'] > (float) $agreed['amount']) {
            throw new Refusal("{$this->name} costs {$text}; {$agreed['amount']} {$agreed['currency']} was agreed to in this panel.");
        }
    }
}
