<?php

declare(strict_types=1);

namespace Deedhouse\Panel;

use Deedhouse\ApiException;

/** What a panel does with a registered name. */
final class Names
{
    /** The statuses of an order in progress. */
    public const OPEN = ['NotProvisioned', 'Processing', 'Pending'];
    /** Departures that are looked through for one name. */
    private const DEPARTURES_MAX = 1_000;

    public function __construct(private readonly Session $session)
    {
    }

    /** @return ?array<string, mixed> the name, or null if it is not in the portfolio */
    public function find(string $name): ?array
    {
        try {
            return $this->session->client->getDomain($name)->data;
        } catch (ApiException $refused) {
            return $refused->errorCode === 'domain_not_found' ? null : throw $refused;
        }
    }

    /** @return ?array<string, mixed> the newest order of this kind about a name */
    public function newestOrder(string $name, string $kind): ?array
    {
        return $this->session->client->listOrders($name, $kind, take: 1)->data[0] ?? null;
    }

    /** @return ?array<string, mixed> how a name left the portfolio */
    public function departure(string $name): ?array
    {
        $seen = 0;
        foreach ($this->session->client->allDepartures() as $departure) {
            if (strcasecmp($departure['domain_name'], $name) === 0) {
                return $departure;
            }
            if (++$seen >= self::DEPARTURES_MAX) {
                return null;
            }
        }
        return null;
    }

    /** @param list<string|array{name: string, addresses?: list<string>}> $hosts */
    public function setNameServers(string $name, array $hosts): void
    {
        $this->session->finished($this->session->client->setNameServers($name, $hosts));
    }

    /**
     * A host below the name exists as one of its name servers; this adds or replaces it there.
     *
     * @param list<string> $addresses empty: removes the host from the list
     */
    public function setHost(string $name, string $host, array $addresses, bool $mustExist): void
    {
        $domain = $this->session->client->getDomain($name)->data ?? [];
        $others = array_filter($this->hosts($domain), static fn (string $one): bool => strcasecmp($one, $host) !== 0);
        $isThere = count($others) < count($domain['name_servers']);
        if ($mustExist && !$isThere) {
            throw new Refusal("{$host} is not one of the name servers of {$name}, so Deedhouse cannot change it.");
        }
        $added = $addresses === [] ? [] : [['name' => $host, 'addresses' => $addresses]];
        $this->setNameServers($name, [...array_values($others), ...$added]);
    }

    /** @param array<string, mixed> $domain @return list<string> */
    public function hosts(array $domain): array
    {
        return array_map(static fn ($host): string => is_array($host) ? $host['name'] : $host, $domain['name_servers'] ?? []);
    }

    public function lock(string $name, bool $isLocked): void
    {
        $this->session->finished($this->session->client->setTransferLock($name, $isLocked));
    }

    /** The code with which another registrar can request the name; a new one only if there is none. */
    public function authCode(string $name): string
    {
        try {
            return (string) $this->session->client->getAuthCode($name)->data['auth_code'];
        } catch (ApiException $refused) {
            if ($refused->errorCode !== 'auth_code_not_found') {
                throw $refused;
            }
        }
        $this->session->finished($this->session->client->orderAuthCode($name));
        return (string) $this->session->client->getAuthCode($name)->data['auth_code'];
    }

    /** A repeat finds no name, and that is what was asked for. */
    public function delete(string $name): void
    {
        try {
            $this->session->finished($this->session->client->deleteDomain($name));
        } catch (ApiException $refused) {
            if ($refused->errorCode !== 'domain_not_found') {
                throw $refused;
            }
        }
    }

    /**
     * Sends the roles that differ from what the registry shows, because some registries refuse even an equal registrant.
     *
     * @param array<string, array<string, mixed>> $contacts by role
     */
    public function setContacts(string $name, array $contacts): void
    {
        $shown = $this->session->client->getContacts($name)->data ?? [];
        $changed = array_filter(
            $contacts,
            static fn (array $contact, string $role): bool => self::sorted($contact) !== self::sorted($shown[$role] ?? []),
            ARRAY_FILTER_USE_BOTH,
        );
        if ($changed !== []) {
            $this->session->finished($this->session->client->setContacts($name, $changed));
        }
    }

    /** @param array<string, mixed> $contact @return array<string, mixed> */
    private static function sorted(array $contact): array
    {
        ksort($contact);
        return $contact;
    }
}
