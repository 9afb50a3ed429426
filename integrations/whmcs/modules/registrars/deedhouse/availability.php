<?php

// Which names are free, as WHMCS asks for them: one label under many suffixes.

declare(strict_types=1);

use Deedhouse\ApiException;
use Deedhouse\Client;
use Deedhouse\Panel\Session;
use WHMCS\Domains\DomainLookup\ResultsList;
use WHMCS\Domains\DomainLookup\SearchResult;

/** What the API takes at once. */
const DEEDHOUSE_NAMES_MAX = 50;
/** The API's reason for a name under a suffix that it does not serve; it has no code for it. Without it, WHMCS shows such a name as reserved. */
const DEEDHOUSE_NOT_SERVED = 'This suffix is not on offer here.';

/** A list that cannot be asked makes only its own names unknown. */
function deedhouse_CheckAvailability(array $params): ResultsList|array
{
    try {
        $client = deedhouse_session($params)->client;
        $label = $params['punyCodeSearchTerm'] ?: $params['searchTerm'];
        $suffixes = array_map(static fn (string $suffix): string => ltrim($suffix, '.'), $params['tldsToInclude']);
        $lists = array_chunk($suffixes, DEEDHOUSE_NAMES_MAX);
        $results = new ResultsList();
        $failures = [];
        foreach ($lists as $asked) {
            $names = array_map(static fn (string $suffix): string => strtolower("{$label}.{$suffix}"), $asked);
            try {
                $found = deedhouse_checkNames($client, $names);
            } catch (Throwable $error) {
                $failures[] = Session::say($error);
                logModuleCall('deedhouse', 'CheckAvailability', $names, end($failures), end($failures), array_filter([$params['ApiSecret'] ?? '']));
                $found = array_fill(0, count($asked), ['availability' => 'unknown']);
            }
            foreach ($found as $index => $one) {
                $results->append(deedhouse_searchResult($params, $asked[$index], $one));
            }
        }
        $isAllLost = $failures !== [] && count($failures) === count($lists);
        return $isAllLost ? ['error' => $failures[0]] : $results;
    } catch (Throwable $error) {
        return ['error' => Session::say($error)];
    }
}

/**
 * The API refuses a list with a name that is not one label under a suffix, and says which names are so. The others are asked again
 * without them.
 *
 * @param list<string> $names
 * @return list<array<string, mixed>> in their order
 */
function deedhouse_checkNames(Client $client, array $names): array
{
    try {
        return $client->checkAvailability($names)->data ?? [];
    } catch (ApiException $refused) {
        $wrong = [];
        foreach ($refused->errorCode === 'bad_request' ? $refused->errors : [] as $one) {
            if (preg_match('/^Name (\d+):/', $one->errorText, $position) === 1) {
                $wrong[(int) $position[1] - 1] = ['availability' => 'blocked', 'reason' => DEEDHOUSE_NOT_SERVED];
            }
        }
        $others = array_diff_key($names, $wrong);
        if ($wrong === [] || $others === []) {
            throw $refused;
        }
        $found = $wrong + array_combine(array_keys($others), $client->checkAvailability(array_values($others))->data ?? []);
        ksort($found);
        return $found;
    }
}

/** @param array<string, mixed> $found the API's answer about a name */
function deedhouse_searchResult(array $params, string $suffix, array $found): SearchResult
{
    $result = new SearchResult($params['searchTerm'], $suffix);
    $price = $found['premium'] ?? null;
    $isOffered = $found['availability'] === 'available' && ($price === null || !empty($params['premiumEnabled']));
    $result->setStatus(match (true) {
        $isOffered => SearchResult::STATUS_NOT_REGISTERED,
        $found['availability'] === 'taken' => SearchResult::STATUS_REGISTERED,
        $found['availability'] === 'unknown' => SearchResult::STATUS_UNKNOWN,
        ($found['reason'] ?? '') === DEEDHOUSE_NOT_SERVED => SearchResult::STATUS_TLD_NOT_SUPPORTED,
        default => SearchResult::STATUS_RESERVED,
    });
    if ($isOffered && $price !== null) {
        $result->setPremiumDomain(true);
        $result->setPremiumCostPricing(['register' => $price['amount'], 'renew' => $price['amount'], 'CurrencyCode' => $price['currency']]);
    }
    return $result;
}
