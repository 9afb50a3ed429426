<?php

declare(strict_types=1);

namespace Deedhouse;

/** Hosting accounts, their host names, and service packs. */
trait HostingCalls
{
    /** The service packs that are offered to you: GET /servicepacks. */
    public function listServicePacks(): Answer
    {
        return $this->transport->list('/servicepacks');
    }

    /** One page of accounts; failed ones are left out: GET /hostingaccounts. */
    public function listHostingAccounts(?int $skip = null, ?int $take = null): Page
    {
        return $this->transport->page('/hostingaccounts', ['skip' => $skip, 'take' => $take]);
    }

    /**
     * Every account; failed ones are left out: GET /hostingaccounts.
     *
     * @return \Generator<int, array<string, mixed>>
     */
    public function allHostingAccounts(): \Generator
    {
        return $this->transport->all('/hostingaccounts');
    }

    /**
     * One account: GET /hostingaccounts/<identifier>. The service holds the answer until the status changes, at most `waitSeconds`.
     *
     * @throws ApiException hostingaccount_invalid_identifier
     */
    public function getHostingAccount(string $identifier, ?int $waitSeconds = null): Answer
    {
        return $this->transport->object(Transport::path('hostingaccounts', $identifier), waitSeconds: $waitSeconds);
    }

    /**
     * Orders an account: POST /hostingaccounts. Its identifier is a host name.
     *
     * @param string $password for FTP, 8 to 64 characters
     * @throws ApiException bad_request, hosting_already_exist, invalid_service_pack, missing_reseller, missing_reseller_profile
     */
    public function createHostingAccount(
        string $identifier,
        string $servicePackId,
        #[\SensitiveParameter] string $password,
        ?string $idempotencyKey = null,
    ): PlacedAccount {
        $body = ['servicepack_id' => $servicePackId, 'identifier' => $identifier, 'password' => $password];
        return new PlacedAccount($this->transport->send('POST', '/hostingaccounts', body: $body, idempotencyKey: $idempotencyKey));
    }

    /**
     * Waits until an account, or the one with this identifier, is provisioned.
     *
     * @param ?\Closure(Answer): void $onStatus called with the first status and each change
     * @throws UnsuccessfulException when it ends as `Failed`
     * @throws WaitTimeoutException when the time runs out
     * @throws ApiException hostingaccount_invalid_identifier
     */
    public function provisioned(PlacedAccount|string $account, float $timeoutSeconds = 600, ?\Closure $onStatus = null): Answer
    {
        $identifier = $account instanceof PlacedAccount ? $account->identifier : $account;
        $answer = Waiting::untilFinal(
            fn (int $waitSeconds): Answer => $this->getHostingAccount($identifier, $waitSeconds),
            static fn (string $status): bool => $status !== 'Provisioning',
            $timeoutSeconds,
            $account instanceof PlacedAccount ? $account->checkAfterSeconds : null,
            $onStatus,
            $this->transport->clock,
        );
        $isFailed = ($answer->data['status'] ?? null) === 'Failed';
        return $isFailed ? throw new UnsuccessfulException("the account {$identifier}", $answer->data) : $answer;
    }

    /**
     * Sets the FTP password: PUT /hostingaccounts/<identifier>/password. Within seconds, only the new one works.
     *
     * @throws ApiException bad_request, hostingaccount_invalid_identifier, hostingaccount_not_changeable
     */
    public function setHostingPassword(
        string $identifier,
        #[\SensitiveParameter] string $password,
        ?string $idempotencyKey = null,
    ): Answer {
        $path = Transport::path('hostingaccounts', $identifier, 'password');
        return $this->transport->write('PUT', $path, $idempotencyKey, ['password' => $password]);
    }

    /**
     * Suspends an account: PUT /hostingaccounts/<identifier>/suspension. Within seconds nobody can log in and the site answers 503.
     *
     * @param ?string $reason why, in one line of up to 200 characters: you and the operator read it
     * @throws ApiException bad_request, hostingaccount_invalid_identifier, hostingaccount_not_changeable
     */
    public function suspendHostingAccount(string $identifier, ?string $reason = null, ?string $idempotencyKey = null): Answer
    {
        $path = Transport::path('hostingaccounts', $identifier, 'suspension');
        $body = ['suspended' => true, ...($reason === null ? [] : ['reason' => $reason])];
        return $this->transport->write('PUT', $path, $idempotencyKey, $body);
    }

    /**
     * Lifts your suspension of an account: PUT /hostingaccounts/<identifier>/suspension. It stays suspended while the operator's holds.
     *
     * @throws ApiException hostingaccount_suspended_by_operator when only the operator's suspension is left,
     *     hostingaccount_invalid_identifier, hostingaccount_not_changeable
     */
    public function unsuspendHostingAccount(string $identifier, ?string $idempotencyKey = null): Answer
    {
        $path = Transport::path('hostingaccounts', $identifier, 'suspension');
        return $this->transport->write('PUT', $path, $idempotencyKey, ['suspended' => false]);
    }

    /**
     * Orders the deletion of an account with its site: DELETE /hostingaccounts/<identifier>.
     *
     * @throws ApiException hostingaccount_invalid_identifier
     */
    public function deleteHostingAccount(string $identifier, ?string $idempotencyKey = null): Answer
    {
        return $this->transport->write('DELETE', Transport::path('hostingaccounts', $identifier), $idempotencyKey);
    }

    /**
     * The newest 200 events of an account, and its next step: GET /hostingaccounts/<identifier>/history.
     *
     * @throws ApiException hostingaccount_invalid_identifier
     */
    public function getHostingHistory(string $identifier): Answer
    {
        return $this->transport->object(Transport::path('hostingaccounts', $identifier, 'history'));
    }

    /**
     * All host names of an account: GET /hostingaccounts/<identifier>/hosts.
     *
     * @throws ApiException hostingaccount_invalid_identifier
     */
    public function listHostNames(string $identifier): Answer
    {
        return $this->transport->list(Transport::path('hostingaccounts', $identifier, 'hosts'));
    }

    /**
     * A host name, with the record to set and its status: GET /hostingaccounts/<identifier>/hosts/<host_name>.
     *
     * @throws ApiException host_name_not_found, hostingaccount_invalid_identifier
     */
    public function getHostName(string $identifier, string $hostName): Answer
    {
        return $this->transport->object(Transport::path('hostingaccounts', $identifier, 'hosts', $hostName));
    }

    /**
     * Adds a host name, or checks it again at once: PUT /hostingaccounts/<identifier>/hosts/<host_name>.
     *
     * @throws ApiException bad_request, host_name_not_available, hostingaccount_invalid_identifier
     */
    public function addHostName(string $identifier, string $hostName, ?string $idempotencyKey = null): Answer
    {
        return $this->transport->write('PUT', Transport::path('hostingaccounts', $identifier, 'hosts', $hostName), $idempotencyKey);
    }

    /**
     * Removes a host name: DELETE /hostingaccounts/<identifier>/hosts/<host_name>. The site stops answering there within seconds.
     *
     * @throws ApiException host_name_not_found, hostingaccount_invalid_identifier
     */
    public function removeHostName(string $identifier, string $hostName, ?string $idempotencyKey = null): Answer
    {
        return $this->transport->write('DELETE', Transport::path('hostingaccounts', $identifier, 'hosts', $hostName), $idempotencyKey);
    }
}
