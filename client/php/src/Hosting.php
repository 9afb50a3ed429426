<?php

declare(strict_types=1);

namespace Deedhouse;

/** Hosting accounts. */
final class Hosting extends Resource
{
    public readonly HostNames $hostNames;
    public readonly Packs $packs;

    public function __construct(Transport $transport)
    {
        parent::__construct($transport);
        $this->hostNames = new HostNames($transport);
        $this->packs = new Packs($transport);
    }

    /** Every account; failed ones are left out: GET /hostingaccounts. */
    public function list(): Items
    {
        return new Items($this->transport, '/hostingaccounts');
    }

    /**
     * One account: GET /hostingaccounts/<identifier>. The service holds the answer until the status changes, at most `waitSeconds`.
     *
     * @throws ApiException hostingaccount_invalid_identifier
     */
    public function get(string $identifier, ?int $waitSeconds = null): Answer
    {
        return $this->read(Transport::path('hostingaccounts', $identifier), $waitSeconds);
    }

    /**
     * Orders an account: POST /hostingaccounts. Its identifier is a host name.
     *
     * @param string $password for FTP, 8 to 64 characters
     * @throws ApiException bad_request, hosting_already_exist, invalid_service_pack, missing_reseller, missing_reseller_profile
     */
    public function create(
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
        $answer = $this->wait($account, $timeoutSeconds, $onStatus);
        $isFailed = ($answer->data['status'] ?? null) === 'Failed';
        return $isFailed ? throw new UnsuccessfulException("the account {$answer->data['identifier']}", $answer->data) : $answer;
    }

    /**
     * Waits as `provisioned`, and returns with every end: look at the `status`.
     *
     * @param ?\Closure(Answer): void $onStatus
     * @throws WaitTimeoutException when the time runs out
     * @throws ApiException hostingaccount_invalid_identifier
     */
    public function wait(PlacedAccount|string $account, float $timeoutSeconds = 600, ?\Closure $onStatus = null): Answer
    {
        $identifier = $account instanceof PlacedAccount ? $account->identifier : $account;
        return Waiting::untilFinal(
            fn (int $waitSeconds): Answer => $this->get($identifier, $waitSeconds),
            static fn (string $status): bool => $status !== 'Provisioning',
            $timeoutSeconds,
            $account instanceof PlacedAccount ? $account->checkAfterSeconds : null,
            $onStatus,
            $this->transport->clock,
        );
    }

    /**
     * The newest 200 events of an account, and its next step: GET /hostingaccounts/<identifier>/history.
     *
     * @throws ApiException hostingaccount_invalid_identifier
     */
    public function getHistory(string $identifier): Answer
    {
        return $this->read(Transport::path('hostingaccounts', $identifier, 'history'));
    }

    /**
     * Sets the FTP password: PUT /hostingaccounts/<identifier>/password. Within seconds, only the new one works.
     *
     * @throws ApiException bad_request, hostingaccount_invalid_identifier, hostingaccount_not_changeable
     */
    public function setPassword(string $identifier, #[\SensitiveParameter] string $password, ?string $idempotencyKey = null): Answer
    {
        $path = Transport::path('hostingaccounts', $identifier, 'password');
        return $this->write('PUT', $path, $idempotencyKey, ['password' => $password]);
    }

    /**
     * Suspends an account: PUT /hostingaccounts/<identifier>/suspension. Within seconds nobody can log in and the site answers 503.
     *
     * @param ?string $reason why, in one line of up to 200 characters: you and the operator read it
     * @throws ApiException bad_request, hostingaccount_invalid_identifier, hostingaccount_not_changeable
     */
    public function suspend(string $identifier, ?string $reason = null, ?string $idempotencyKey = null): Answer
    {
        $path = Transport::path('hostingaccounts', $identifier, 'suspension');
        return $this->write('PUT', $path, $idempotencyKey, ['suspended' => true, 'reason' => $reason]);
    }

    /**
     * Lifts your suspension of an account: PUT /hostingaccounts/<identifier>/suspension. It stays suspended while the operator's holds.
     *
     * @throws ApiException hostingaccount_suspended_by_operator when only the operator's suspension is left,
     *     hostingaccount_invalid_identifier, hostingaccount_not_changeable
     */
    public function unsuspend(string $identifier, ?string $idempotencyKey = null): Answer
    {
        $path = Transport::path('hostingaccounts', $identifier, 'suspension');
        return $this->write('PUT', $path, $idempotencyKey, ['suspended' => false]);
    }

    /**
     * Orders the deletion of an account with its site: DELETE /hostingaccounts/<identifier>.
     *
     * @throws ApiException hostingaccount_invalid_identifier
     */
    public function delete(string $identifier, ?string $idempotencyKey = null): Answer
    {
        return $this->write('DELETE', Transport::path('hostingaccounts', $identifier), $idempotencyKey);
    }
}
