<?php

declare(strict_types=1);

namespace Deedhouse;

/** The calls for names, their registration and their renewal. */
trait DomainCalls
{
    /**
     * One page of the portfolio, by default the first 25 names: GET /domains. All filters that are given must hold.
     *
     * @param ?string $namePrefix the beginning of the name as an A-label
     * @param ?string $expiresBefore a date, or a time with its zone
     * @throws ApiException bad_request, invalid_paging_request
     */
    public function listDomains(
        ?string $namePrefix = null,
        ?string $expiresBefore = null,
        ?bool $willRenew = null,
        ?int $skip = null,
        ?int $take = null,
    ): Page {
        $filters = self::domainFilter($namePrefix, $expiresBefore, $willRenew);
        return $this->transport->page('/domains', [...$filters, 'skip' => $skip, 'take' => $take]);
    }

    /**
     * Every name of the portfolio, or of the part that the filters select: GET /domains. It neither skips nor repeats one, even when the
     * portfolio changes meanwhile.
     *
     * @return \Generator<int, array<string, mixed>>
     * @throws ApiException bad_request
     */
    public function allDomains(?string $namePrefix = null, ?string $expiresBefore = null, ?bool $willRenew = null): \Generator
    {
        return $this->transport->all('/domains', self::domainFilter($namePrefix, $expiresBefore, $willRenew));
    }

    /**
     * One name, in any spelling: GET /domains/<domain_name>.
     *
     * @throws ApiException domain_not_found, domain_not_valid, invalid_request
     */
    public function getDomain(string $domainName): Answer
    {
        return $this->transport->object(Transport::path('domains', $domainName));
    }

    /**
     * Whether names can be registered, in their order: GET /domains/availability. At most 50, and each counts as a request.
     *
     * @param list<string> $domainNames
     * @throws ApiException bad_request
     */
    public function checkAvailability(array $domainNames): Answer
    {
        return $this->transport->list('/domains/availability', ['names' => implode(',', $domainNames)]);
    }

    /** One page of names that have left the portfolio, the newest first: GET /domains/departures. */
    public function listDepartures(?int $skip = null, ?int $take = null): Page
    {
        return $this->transport->page('/domains/departures', ['skip' => $skip, 'take' => $take]);
    }

    /**
     * Every name that has left the portfolio, the newest first: GET /domains/departures.
     *
     * @return \Generator<int, array<string, mixed>>
     */
    public function allDepartures(): \Generator
    {
        return $this->transport->all('/domains/departures');
    }

    /**
     * Orders the registration of a name: POST /domains/registrations. The account's profile takes the place of contacts that are left
     * out. A name that you hold already gets `domain_availability_taken` with its `location`.
     *
     * @param ?list<string|array{name: string, addresses?: list<string>}> $nameServers
     * @param ?array<string, array<string, mixed>> $contacts by role: `registrant`, `admin`, `tech`, `billing`
     * @throws ApiException bad_request, domain_availability_blocked, domain_availability_lookuperror, domain_availability_taken,
     *     order_limit_reached
     */
    public function registerDomain(
        string $domainName,
        ?int $years = null,
        ?array $nameServers = null,
        ?array $contacts = null,
        ?bool $willRenew = null,
        ?string $allocationToken = null,
        ?string $idempotencyKey = null,
    ): PlacedOrder {
        $body = self::registration($domainName, $years, $nameServers, $contacts, $willRenew, $allocationToken);
        return $this->transport->order('POST', '/domains/registrations', $idempotencyKey, $body);
    }

    /**
     * Makes every check of a registration, and orders nothing: POST /domains/registrations with `dry_run`.
     *
     * @param ?list<string|array{name: string, addresses?: list<string>}> $nameServers
     * @param ?array<string, array<string, mixed>> $contacts
     * @throws ApiException as `registerDomain`
     */
    public function checkRegistration(
        string $domainName,
        ?int $years = null,
        ?array $nameServers = null,
        ?array $contacts = null,
        ?bool $willRenew = null,
        ?string $allocationToken = null,
    ): Answer {
        $body = self::registration($domainName, $years, $nameServers, $contacts, $willRenew, $allocationToken);
        $reply = $this->transport->send('POST', '/domains/registrations', body: [...$body, 'dry_run' => true]);
        return new Answer($reply, $reply->object());
    }

    /**
     * The status of a registration: GET /domains/registrations/<order_code>; `getOrder` returns more. The service holds the answer until
     * the status changes, at most `waitSeconds`.
     *
     * @throws ApiException bad_request, order_not_found
     */
    public function getRegistration(string $orderCode, ?int $waitSeconds = null): Answer
    {
        return $this->transport->object(Transport::path('domains', 'registrations', $orderCode), waitSeconds: $waitSeconds);
    }

    /**
     * Sets whether a name will renew at the end of its term: PUT /domains/<domain_name>/renew. Once the registry is carrying it out:
     * `domain_renewal_underway`.
     *
     * @throws ApiException bad_request, domain_not_found, domain_not_valid, domain_renewal_underway
     */
    public function setWillRenew(string $domainName, bool $willRenew, ?string $idempotencyKey = null): Answer
    {
        $path = Transport::path('domains', $domainName, 'renew');
        return $this->transport->write('PUT', $path, $idempotencyKey, ['will_renew' => $willRenew]);
    }

    /**
     * One page of upcoming and recent renewals, by the end of the term: GET /renewals.
     *
     * @throws ApiException bad_request, invalid_paging_request
     */
    public function listRenewals(?string $status = null, ?int $skip = null, ?int $take = null): Page
    {
        return $this->transport->page('/renewals', ['status' => $status, 'skip' => $skip, 'take' => $take]);
    }

    /**
     * Every upcoming and recent renewal, by the end of the term: GET /renewals.
     *
     * @return \Generator<int, array<string, mixed>>
     * @throws ApiException bad_request
     */
    public function allRenewals(?string $status = null): \Generator
    {
        return $this->transport->all('/renewals', ['status' => $status]);
    }

    /** @return array<string, string|bool|null> */
    private static function domainFilter(?string $namePrefix, ?string $expiresBefore, ?bool $willRenew): array
    {
        return ['name_prefix' => $namePrefix, 'expires_before' => $expiresBefore, 'will_renew' => $willRenew];
    }

    /**
     * @param ?list<string|array<string, mixed>> $nameServers
     * @param ?array<string, array<string, mixed>> $contacts
     * @return array<string, mixed>
     */
    private static function registration(
        string $domainName,
        ?int $years,
        ?array $nameServers,
        ?array $contacts,
        ?bool $willRenew,
        ?string $allocationToken,
    ): array {
        $others = array_diff_key($contacts ?? [], ['registrant' => true]);
        return [
            'domain_name' => $domainName,
            'years' => $years,
            'name_servers' => $nameServers,
            'registrant' => $contacts['registrant'] ?? null,
            'contacts' => $others === [] ? null : $others,
            'will_renew' => $willRenew,
            'allocation_token' => $allocationToken,
        ];
    }
}
