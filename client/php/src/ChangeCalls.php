<?php

declare(strict_types=1);

namespace Deedhouse;

/** The calls that change, renew, delete, restore and transfer a name. Pass what was placed to `finished`. */
trait ChangeCalls
{
    /**
     * Whom the registry shows: GET /domains/<domain_name>/contacts.
     *
     * @throws ApiException domain_not_found, domain_not_valid
     */
    public function getContacts(string $domainName): Answer
    {
        return $this->transport->object(Transport::path('domains', $domainName, 'contacts'));
    }

    /**
     * Orders other contacts: PUT /domains/<domain_name>/contacts. Roles that are left out stay.
     *
     * @param array<string, array<string, mixed>> $contacts by role
     * @throws ApiException bad_request, domain_not_found, domain_not_valid, order_limit_reached
     */
    public function setContacts(string $domainName, array $contacts, ?string $idempotencyKey = null): PlacedOrder
    {
        return $this->transport->order('PUT', Transport::path('domains', $domainName, 'contacts'), $idempotencyKey, $contacts);
    }

    /**
     * Replaces the name servers: PUT /domains/<domain_name>/nameservers. Hosts below the name itself need addresses, unless they exist.
     *
     * @param list<string|array{name: string, addresses?: list<string>}> $nameServers
     * @throws ApiException bad_request, domain_not_found, domain_not_valid, order_limit_reached
     */
    public function setNameServers(string $domainName, array $nameServers, ?string $idempotencyKey = null): PlacedOrder
    {
        $path = Transport::path('domains', $domainName, 'nameservers');
        return $this->transport->order('PUT', $path, $idempotencyKey, ['name_servers' => $nameServers]);
    }

    /**
     * Replaces the DNSSEC records by `ds` or `keys`: PUT /domains/<domain_name>/dnssec. An empty list removes all.
     *
     * @param ?list<array<string, int|string>> $ds
     * @param ?list<array<string, int|string>> $keys
     * @throws ApiException bad_request, domain_not_found, domain_not_valid, order_limit_reached
     */
    public function setDnssec(string $domainName, ?array $ds = null, ?array $keys = null, ?string $idempotencyKey = null): PlacedOrder
    {
        $path = Transport::path('domains', $domainName, 'dnssec');
        return $this->transport->order('PUT', $path, $idempotencyKey, ['ds' => $ds, 'keys' => $keys]);
    }

    /**
     * Renews a name now: POST /domains/<domain_name>/renewals. This costs money.
     *
     * @param string $expirationDate the one that the name has now, or its UTC date, so that a repeat never buys a second term
     * @throws ApiException bad_request, domain_expiration_changed, domain_not_found, domain_not_valid, domain_renewal_underway,
     *     order_limit_reached
     */
    public function renewDomain(string $domainName, int $years, string $expirationDate, ?string $idempotencyKey = null): PlacedOrder
    {
        $path = Transport::path('domains', $domainName, 'renewals');
        return $this->transport->order('POST', $path, $idempotencyKey, ['years' => $years, 'expiration_date' => $expirationDate]);
    }

    /**
     * Deletes a name: DELETE /domains/<domain_name>. Needs a key with the scope `domains:delete`.
     *
     * @throws ApiException bad_request, domain_not_found, domain_not_valid, order_limit_reached
     */
    public function deleteDomain(string $domainName, ?string $idempotencyKey = null): PlacedOrder
    {
        $query = $this->transport->query(['confirm' => $domainName]);
        return $this->transport->order('DELETE', Transport::path('domains', $domainName), $idempotencyKey, query: $query);
    }

    /**
     * Brings a deleted name of yours back: POST /domains/<domain_name>/restores. This costs money.
     *
     * @throws ApiException domain_not_found, domain_not_restorable, domain_not_valid, domain_renewal_underway, order_limit_reached
     */
    public function restoreDomain(string $domainName, ?string $idempotencyKey = null): PlacedOrder
    {
        return $this->transport->order('POST', Transport::path('domains', $domainName, 'restores'), $idempotencyKey);
    }

    /**
     * Sets whether other registrars can transfer the name away: PUT /domains/<domain_name>/transfer-lock.
     *
     * @throws ApiException bad_request, domain_not_found, domain_not_valid, order_limit_reached
     */
    public function setTransferLock(string $domainName, bool $isLocked, ?string $idempotencyKey = null): PlacedOrder
    {
        $path = Transport::path('domains', $domainName, 'transfer-lock');
        return $this->transport->order('PUT', $path, $idempotencyKey, ['transfer_locked' => $isLocked]);
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
        return $this->transport->order('POST', Transport::path('domains', $domainName, 'auth-code'), $idempotencyKey);
    }

    /**
     * The auth code, from the end of its order until it expires: GET /domains/<domain_name>/auth-code.
     *
     * @throws ApiException auth_code_not_found, domain_not_found, domain_not_valid
     */
    public function getAuthCode(string $domainName): Answer
    {
        return $this->transport->object(Transport::path('domains', $domainName, 'auth-code'));
    }

    /**
     * Answers the transfer that another registrar requests now: POST /domains/<domain_name>/transfer-out.
     *
     * @param 'approve'|'reject' $answer a reject has a reason
     * @throws ApiException bad_request, domain_not_found, domain_not_valid, order_limit_reached
     */
    public function answerTransfer(string $domainName, string $answer, ?string $reason = null, ?string $idempotencyKey = null): PlacedOrder
    {
        $path = Transport::path('domains', $domainName, 'transfer-out');
        return $this->transport->order('POST', $path, $idempotencyKey, ['answer' => $answer, 'reason' => $reason]);
    }
}
