<?php

declare(strict_types=1);

namespace Deedhouse;

/** Names, and orders about them: pass what was placed to `orders->finished`. */
final class Domains extends Resource
{
    /**
     * The portfolio, or the part that the filters select: GET /domains. All filters that are given must hold.
     *
     * @param ?string $namePrefix the beginning of the name as an A-label
     * @param ?string $expiresBefore a date, or a time with its zone
     * @throws ApiException bad_request
     */
    public function list(?string $namePrefix = null, ?string $expiresBefore = null, ?bool $willRenew = null): ExportableItems
    {
        $filters = ['name_prefix' => $namePrefix, 'expires_before' => $expiresBefore, 'will_renew' => $willRenew];
        return new ExportableItems($this->transport, '/domains', $filters);
    }

    /**
     * One name, in any spelling: GET /domains/<domain_name>.
     *
     * @throws ApiException domain_not_found, domain_not_valid, invalid_request
     */
    public function get(string $domainName): Answer
    {
        return $this->read(Transport::path('domains', $domainName));
    }

    /**
     * What happened to a name, the newest first: GET /domains/<domain_name>/history.
     *
     * @throws ApiException domain_not_found, domain_not_valid
     */
    public function history(string $domainName): Items
    {
        return new Items($this->transport, Transport::path('domains', $domainName, 'history'));
    }

    /** Names that have left the portfolio, the newest first: GET /domains/departures. */
    public function departures(): ExportableItems
    {
        return new ExportableItems($this->transport, '/domains/departures');
    }

    /**
     * Whether names can be registered, in their order: GET /domains/availability. At most 50, and each counts as a request.
     *
     * @param list<string> $domainNames
     * @throws ApiException bad_request
     */
    public function checkAvailability(array $domainNames): Answer
    {
        $query = $this->transport->query(['names' => implode(',', $domainNames)]);
        $reply = $this->transport->send('GET', '/domains/availability', $query);
        return new Answer($reply, $reply->list());
    }

    /**
     * Makes every check of a registration, and orders nothing: POST /domains/registrations with `dry_run`.
     *
     * @param ?list<string|array{name: string, addresses?: list<string>}> $nameServers
     * @param ?array<string, array<string, mixed>> $contacts
     * @throws ApiException as `register`
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
     * Orders the registration of a name: POST /domains/registrations. The account's profile takes the place of contacts that are left
     * out. A name that you hold already gets `domain_availability_taken` with its `location`.
     *
     * @param ?list<string|array{name: string, addresses?: list<string>}> $nameServers
     * @param ?array<string, array<string, mixed>> $contacts by role: `registrant`, `admin`, `tech`, `billing`
     * @throws ApiException bad_request, domain_availability_blocked, domain_availability_lookuperror, domain_availability_taken,
     *     order_limit_reached
     */
    public function register(
        string $domainName,
        ?int $years = null,
        ?array $nameServers = null,
        ?array $contacts = null,
        ?bool $willRenew = null,
        ?string $allocationToken = null,
        ?string $idempotencyKey = null,
    ): PlacedOrder {
        $body = self::registration($domainName, $years, $nameServers, $contacts, $willRenew, $allocationToken);
        return $this->order('POST', '/domains/registrations', $idempotencyKey, $body);
    }

    /**
     * The status of a registration: GET /domains/registrations/<order_code>; `orders->get` returns more. The service holds the answer
     * until the status changes, at most `waitSeconds`.
     *
     * @throws ApiException bad_request, order_not_found
     */
    public function getRegistration(string $orderCode, ?int $waitSeconds = null): Answer
    {
        return $this->read(Transport::path('domains', 'registrations', $orderCode), $waitSeconds);
    }

    /**
     * Renews a name now: POST /domains/<domain_name>/renewals. This costs money.
     *
     * @param string $expirationDate the one that the name has now, or its UTC date, so that a repeat never buys a second term
     * @throws ApiException bad_request, domain_expiration_changed, domain_not_found, domain_not_valid, domain_renewal_underway,
     *     order_limit_reached
     */
    public function renew(string $domainName, int $years, string $expirationDate, ?string $idempotencyKey = null): PlacedOrder
    {
        $path = Transport::path('domains', $domainName, 'renewals');
        return $this->order('POST', $path, $idempotencyKey, ['years' => $years, 'expiration_date' => $expirationDate]);
    }

    /**
     * Deletes a name: DELETE /domains/<domain_name>. Needs a key with the scope `domains:delete`.
     *
     * @throws ApiException bad_request, domain_not_found, domain_not_valid, order_limit_reached
     */
    public function delete(string $domainName, ?string $idempotencyKey = null): PlacedOrder
    {
        $query = $this->transport->query(['confirm' => $domainName]);
        return $this->order('DELETE', Transport::path('domains', $domainName), $idempotencyKey, query: $query);
    }

    /**
     * Brings a deleted name of yours back: POST /domains/<domain_name>/restores. This costs money.
     *
     * @throws ApiException domain_not_found, domain_not_restorable, domain_not_valid, domain_renewal_underway, order_limit_reached
     */
    public function restore(string $domainName, ?string $idempotencyKey = null): PlacedOrder
    {
        return $this->order('POST', Transport::path('domains', $domainName, 'restores'), $idempotencyKey);
    }

    /**
     * Sets whether a name will renew at the end of its term: PUT /domains/<domain_name>/renew. Once the registry is carrying it out:
     * `domain_renewal_underway`.
     *
     * @throws ApiException bad_request, domain_not_found, domain_not_valid, domain_renewal_underway
     */
    public function setWillRenew(string $domainName, bool $willRenew, ?string $idempotencyKey = null): Answer
    {
        return $this->write('PUT', Transport::path('domains', $domainName, 'renew'), $idempotencyKey, ['will_renew' => $willRenew]);
    }

    /**
     * Whom the registry shows: GET /domains/<domain_name>/contacts.
     *
     * @throws ApiException domain_not_found, domain_not_valid
     */
    public function getContacts(string $domainName): Answer
    {
        return $this->read(Transport::path('domains', $domainName, 'contacts'));
    }

    /**
     * Orders other contacts: PUT /domains/<domain_name>/contacts. Roles that are left out stay.
     *
     * @param array<string, array<string, mixed>> $contacts by role
     * @throws ApiException bad_request, domain_not_found, domain_not_valid, order_limit_reached
     */
    public function setContacts(string $domainName, array $contacts, ?string $idempotencyKey = null): PlacedOrder
    {
        return $this->order('PUT', Transport::path('domains', $domainName, 'contacts'), $idempotencyKey, $contacts);
    }

    /**
     * Replaces the name servers: PUT /domains/<domain_name>/nameservers. Hosts below the name itself need addresses, unless they exist.
     *
     * @param list<string|array{name: string, addresses?: list<string>}> $nameServers
     * @throws ApiException bad_request, domain_has_ds, domain_not_found, domain_not_valid, order_limit_reached
     */
    public function setNameServers(string $domainName, array $nameServers, ?string $idempotencyKey = null): PlacedOrder
    {
        $path = Transport::path('domains', $domainName, 'nameservers');
        return $this->order('PUT', $path, $idempotencyKey, ['name_servers' => $nameServers]);
    }

    /**
     * Replaces the DNSSEC records by `ds` or `keys`: PUT /domains/<domain_name>/dnssec. An empty list removes all.
     *
     * @param ?list<array<string, int|string>> $ds
     * @param ?list<array<string, int|string>> $keys
     * @throws ApiException bad_request, domain_not_found, domain_not_valid, order_limit_reached, zone_unsigned
     */
    public function setDnssec(string $domainName, ?array $ds = null, ?array $keys = null, ?string $idempotencyKey = null): PlacedOrder
    {
        return $this->order('PUT', Transport::path('domains', $domainName, 'dnssec'), $idempotencyKey, ['ds' => $ds, 'keys' => $keys]);
    }

    /**
     * Sets whether other registrars can transfer the name away: PUT /domains/<domain_name>/transfer-lock.
     *
     * @throws ApiException bad_request, domain_not_found, domain_not_valid, order_limit_reached
     */
    public function setTransferLock(string $domainName, bool $isLocked, ?string $idempotencyKey = null): PlacedOrder
    {
        $path = Transport::path('domains', $domainName, 'transfer-lock');
        return $this->order('PUT', $path, $idempotencyKey, ['transfer_locked' => $isLocked]);
    }

    /**
     * Orders a new auth code: POST /domains/<domain_name>/auth-code. Once it is finished, `getAuthCode` reads it. Needs a key with the
     * scope `domains:transfer`.
     *
     * @throws ApiException auth_code_not_issued, domain_locked, domain_not_found, domain_not_valid, domain_transfer_prohibited,
     *     order_limit_reached
     */
    public function orderAuthCode(string $domainName, ?string $idempotencyKey = null): PlacedOrder
    {
        return $this->order('POST', Transport::path('domains', $domainName, 'auth-code'), $idempotencyKey);
    }

    /**
     * The auth code, from the end of its order until it expires: GET /domains/<domain_name>/auth-code.
     *
     * @throws ApiException auth_code_not_found, domain_not_found, domain_not_valid
     */
    public function getAuthCode(string $domainName): Answer
    {
        return $this->read(Transport::path('domains', $domainName, 'auth-code'));
    }

    /**
     * Lets the name go to the registrar that requests it now: POST /domains/<domain_name>/transfer-out.
     *
     * @throws ApiException bad_request, domain_not_found, domain_not_valid, order_limit_reached
     */
    public function approveTransfer(string $domainName, ?string $idempotencyKey = null): PlacedOrder
    {
        return $this->order('POST', Transport::path('domains', $domainName, 'transfer-out'), $idempotencyKey, ['answer' => 'approve']);
    }

    /**
     * Refuses the transfer that another registrar requests now: POST /domains/<domain_name>/transfer-out.
     *
     * @throws ApiException bad_request, domain_not_found, domain_not_valid, order_limit_reached
     */
    public function rejectTransfer(string $domainName, string $reason, ?string $idempotencyKey = null): PlacedOrder
    {
        $path = Transport::path('domains', $domainName, 'transfer-out');
        return $this->order('POST', $path, $idempotencyKey, ['answer' => 'reject', 'reason' => $reason]);
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
