<?php

declare(strict_types=1);

namespace Deedhouse\Panel;

use Deedhouse\ApiException;

/** Hosting accounts for a panel's services. The identifier is the service's domain. */
final class Hosting
{
    public const NO_SUSPENSION = 'Deedhouse offers resellers no suspension of an account: ask its operator, or terminate the account.';
    private const NOT_FOUND = 'hostingaccount_invalid_identifier';
    public const NO_PACKAGE_CHANGE = 'Deedhouse offers resellers no change of an account\'s service pack: ask its operator.';

    public function __construct(private readonly Session $session)
    {
    }

    /** The number of service packs that the key may use; a call that any wrong setting makes fail. */
    public function countPacks(): int
    {
        return count($this->session->client->listServicePacks()->data ?? []);
    }

    /**
     * Creates an account and gives it its password. The first password is derived, because a panel may draw another one for each try,
     * and a repeat must be the same request.
     *
     * @param string $entry whose account it is, as the panel knows it
     * @param ?\Closure(): bool $isFreeInPanel whether no other entry has the domain; null where a panel does not tell: then only an
     *     account that was created for the same entry is followed
     * @return array<string, mixed> the account, ready
     */
    public function create(
        string $entry,
        string $identifier,
        string $packId,
        #[\SensitiveParameter] string $password,
        ?\Closure $isFreeInPanel,
    ): array {
        if (trim($packId) === '') {
            throw new Refusal('The product names no service pack of Deedhouse.');
        }
        $account = $this->find($identifier);
        if (isset($account['removal_requested_at'])) {
            throw new Refusal("The former account {$identifier} is still being removed. Repeat this action in a minute.");
        }
        // Another attempt only after this one was seen to have failed.
        $attempt = ($account['status'] ?? null) === 'Failed' ? $account['created_at'] : '';
        $account = $this->ready($entry, $identifier, trim($packId), $attempt, $isFreeInPanel);
        $this->setPassword($identifier, $password);
        return $account;
    }

    /** @return array<string, mixed> */
    private function ready(string $entry, string $identifier, string $packId, string $attempt, ?\Closure $isFreeInPanel): array
    {
        $first = $this->session->digest(json_encode([$entry, $identifier], JSON_THROW_ON_ERROR));
        $key = $this->session->key('account', [$entry, $identifier, $packId, $attempt]);
        $send = fn (string $key): string => $this->session->client
            ->createHostingAccount($identifier, $packId, $first, $key)->identifier;
        try {
            $this->session->once($key, $send);
            return $this->session->provisioned($identifier);
        } catch (ApiException $refused) {
            if ($refused->errorCode === 'hosting_already_exist' && $refused->location !== null) {
                if ($isFreeInPanel === null || !$isFreeInPanel()) {
                    throw new Refusal("{$identifier} has an account already, which was not created for this service.");
                }
                return $this->session->provisioned($identifier);
            }
            if ($refused->errorCode !== self::NOT_FOUND) {
                throw $refused;
            }
        }
        // The answer was of an account that has been removed since. The identifier is free, and only one account can get it.
        $send($key . '-' . intdiv(time(), 60));
        return $this->session->provisioned($identifier);
    }

    /** @return ?array<string, mixed> */
    public function find(string $identifier): ?array
    {
        try {
            return $this->session->client->getHostingAccount($identifier)->data;
        } catch (ApiException $refused) {
            return $refused->errorCode === self::NOT_FOUND ? null : throw $refused;
        }
    }

    /** A repeat finds no account, and that is what was asked for. */
    public function delete(string $identifier): void
    {
        try {
            $this->session->client->deleteHostingAccount($identifier);
        } catch (ApiException $refused) {
            if ($refused->errorCode !== self::NOT_FOUND) {
                throw $refused;
            }
        }
    }

    /** @throws Refusal when the account has another service pack */
    public function requirePack(string $identifier, string $packId): void
    {
        $account = $this->session->client->getHostingAccount($identifier)->data ?? [];
        if (($account['servicepack_id'] ?? null) !== trim($packId)) {
            throw new Refusal(self::NO_PACKAGE_CHANGE);
        }
    }

    public function setPassword(string $identifier, #[\SensitiveParameter] string $password): void
    {
        $this->session->client->setHostingPassword($identifier, $password);
    }

    /** @return \Generator<int, array<string, mixed>> */
    public function all(): \Generator
    {
        return $this->session->client->allHostingAccounts();
    }
}
