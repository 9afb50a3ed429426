<?php

declare(strict_types=1);

namespace Deedhouse\Panel;

use Deedhouse\ApiException;
use Deedhouse\WaitTimeoutException;

/** Hosting accounts for a panel's services. The identifier is the service's domain. */
final class Hosting
{
    private const NOT_FOUND = 'hostingaccount_invalid_identifier';
    /** More accounts of one service than anybody removes within the seven days for which answers are kept. */
    private const ACCOUNTS_MAX = 100;
    private const REASON_CHARS_MAX = 200;
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
        $former = $this->find($identifier);
        $isLeaving = isset($former['removal_requested_at']);
        if ($isLeaving && !$this->session->waitUntil(fn (): bool => !$this->isSame($former, $this->find($identifier)))) {
            throw new Refusal("The former account {$identifier} is still being removed. Repeat this action in a minute.");
        }
        // Another attempt only after the last one was seen to have failed.
        $attempt = ($former['status'] ?? null) === 'Failed' ? $former['created_at'] : '';
        $account = $this->ready($entry, $identifier, trim($packId), $attempt, $isFreeInPanel);
        $this->setPassword($identifier, $password);
        return $account;
    }

    /**
     * An answer may be of an account that has been removed since: then the next number is asked for. Two processes count alike, so both
     * get one account.
     *
     * @return array<string, mixed>
     */
    private function ready(string $entry, string $identifier, string $packId, string $attempt, ?\Closure $isFreeInPanel): array
    {
        $first = $this->session->digest(json_encode([$entry, $identifier], JSON_THROW_ON_ERROR));
        $send = fn (string $key): string => $this->session->client
            ->createHostingAccount($identifier, $packId, $first, $key)->identifier;
        for ($number = 0; ; $number++) {
            $key = $this->session->key('account', [$entry, $identifier, $packId, $number === 0 ? $attempt : "{$attempt}/{$number}"]);
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
                if ($refused->errorCode !== self::NOT_FOUND || $number === self::ACCOUNTS_MAX) {
                    throw $refused;
                }
            }
        }
    }

    /** Another process may have created the next account since. */
    private function isSame(array $former, ?array $account): bool
    {
        return $account !== null && $account['created_at'] === $former['created_at'];
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

    /**
     * Takes an account's login and site off, and waits until they are. A repeat finds it so.
     *
     * @param ?string $reason for its operator
     */
    public function suspend(string $identifier, ?string $reason): void
    {
        $this->session->client->suspendHostingAccount($identifier, self::oneLine((string) $reason));
        $this->applied($identifier);
    }

    public function unsuspend(string $identifier): void
    {
        $this->session->client->unsuspendHostingAccount($identifier);
        if ($this->applied($identifier)['status'] === 'Suspended') {
            throw new Refusal("Your suspension of {$identifier} is lifted, but its operator has suspended it, too: ask them.");
        }
    }

    /**
     * @return array<string, mixed> the account when all requested changes are in effect
     * @throws WaitTimeoutException when they still are in progress
     */
    private function applied(string $identifier): array
    {
        $account = [];
        $isApplied = $this->session->waitUntil(function () use ($identifier, &$account): bool {
            $account = $this->session->client->getHostingAccount($identifier)->data ?? [];
            return !$account['changes_pending'];
        });
        return $isApplied ? $account : throw new WaitTimeoutException($account['status'], null);
    }

    /** A panel's reason may be longer than the service takes. */
    private static function oneLine(string $reason): ?string
    {
        $line = trim((string) preg_replace('/[\p{C}\s]+/u', ' ', $reason));
        return $line === '' ? null : (string) preg_replace('/^(.{' . self::REASON_CHARS_MAX . '}).*$/u', '$1', $line);
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
