<?php

// WHMCS finds a module's functions by their names: the module's, and what they do.

declare(strict_types=1);

use Deedhouse\ApiException;
use Deedhouse\Panel\Names;
use Deedhouse\Panel\Refusal;
use Deedhouse\Panel\Registration;
use Deedhouse\Panel\Renewal;
use Deedhouse\Panel\Session;
use Deedhouse\WaitTimeoutException;
use WHMCS\Carbon;
use WHMCS\Database\Capsule;
use WHMCS\Domain\Registrar\Domain;

if (!defined('WHMCS')) {
    exit('This file is a module of WHMCS.');
}

require_once __DIR__ . '/lib/autoload.php';
require_once __DIR__ . '/availability.php';
require_once __DIR__ . '/contacts.php';

function deedhouse_MetaData(): array
{
    return ['DisplayName' => 'Deedhouse', 'APIVersion' => '1.1'];
}

function deedhouse_getConfigArray(): array
{
    return [
        'FriendlyName' => ['Type' => 'System', 'Value' => 'Deedhouse'],
        'Url' => [
            'FriendlyName' => 'URL of the API',
            'Type' => 'text',
            'Size' => '50',
            'Description' => 'As your operator gave it, such as https://api.example.com/v1',
        ],
        'ApiKey' => ['FriendlyName' => 'API key', 'Type' => 'text', 'Size' => '40'],
        'ApiSecret' => ['FriendlyName' => 'API secret', 'Type' => 'password', 'Size' => '50'],
        'PanelName' => [
            'FriendlyName' => 'Name of this WHMCS',
            'Type' => 'text',
            'Size' => '20',
            'Default' => 'whmcs',
            'Description' => 'Never change it. Give each WHMCS that uses the same Deedhouse account a name of its own',
        ],
        'ContactRoles' => [
            'FriendlyName' => 'Contacts of a registration',
            'Type' => 'text',
            'Size' => '40',
            'Default' => 'registrant,admin,tech',
            'Description' => 'Those that your suffixes have; empty: your account\'s profile is used for all',
        ],
        'AutoRenew' => [
            'FriendlyName' => 'Renew without an invoice',
            'Type' => 'yesno',
            'Description' => 'Deedhouse renews every new name at the end of its term, also if WHMCS was not paid',
        ],
        'WaitSeconds' => [
            'FriendlyName' => 'Seconds to wait for an order\'s end',
            'Type' => 'text',
            'Size' => '5',
            'Default' => (string) Session::WAIT_SECONDS_DEFAULT,
        ],
        'CaFile' => [
            'FriendlyName' => 'Certificate authority',
            'Type' => 'text',
            'Size' => '50',
            'Description' => 'The path of a PEM file, only if your operator uses an authority of their own',
        ],
    ];
}

function deedhouse_session(array $params): Session
{
    return new Session(
        (string) ($params['Url'] ?? ''),
        (string) ($params['ApiKey'] ?? ''),
        (string) ($params['ApiSecret'] ?? ''),
        'whmcs ' . ($params['PanelName'] ?? ''),
        $params['CaFile'] ?? null,
        $params['WaitSeconds'] ?? null,
    );
}

/** WHMCS gives the suffix with its dot in some calls, and without in others. */
function deedhouse_name(array $params): string
{
    return strtolower($params['sld'] . '.' . ltrim($params['tld'], '.'));
}

/**
 * Runs an action, and answers as WHMCS reads it.
 *
 * @param Closure(Session, Names, string): array $work gets the name, too
 */
function deedhouse_run(string $action, array $params, Closure $work): array
{
    try {
        $session = deedhouse_session($params);
        $answer = $work($session, new Names($session), deedhouse_name($params));
        deedhouse_log($action, $params, $answer);
        return $answer;
    } catch (Throwable $error) {
        $answer = ['error' => Session::say($error)];
        deedhouse_log($action, $params, $answer);
        return $answer;
    }
}

/** Names what happened, but no person: WHMCS shows its module log to everybody in the admin area. */
function deedhouse_log(string $action, array $params, array $answer): void
{
    $request = ['domain' => deedhouse_name($params), 'domainid' => $params['domainid'] ?? null];
    $secrets = array_filter([$params['ApiSecret'] ?? '', $answer['eppcode'] ?? '']);
    $shown = array_intersect_key($answer, array_flip(['success', 'pending', 'error', 'active', 'expirydate', 'expired', 'cancelled', 'transferredAway', 'eppcode']));
    logModuleCall('deedhouse', $action, $request, $shown, $shown, array_values($secrets));
}

function deedhouse_RegisterDomain(array $params): array
{
    return deedhouse_run('RegisterDomain', $params, static function (Session $session, Names $names, string $name) use ($params): array {
        $registration = new Registration(
            $session,
            (string) $params['domainid'],
            $name,
            (int) $params['regperiod'] ?: null,
            deedhouse_nameServers($params),
            deedhouse_contactsOfOrder($params),
            ($params['AutoRenew'] ?? '') === 'on',
            deedhouse_agreedPrice($params),
            static fn (): bool => deedhouse_isFree($name, (int) $params['domainid']),
        );
        try {
            $registration->complete();
            return ['success' => true];
        } catch (WaitTimeoutException $still) {
            return ['pending' => true, 'pendingMessage' => Session::say($still)];
        }
    });
}

function deedhouse_RenewDomain(array $params): array
{
    return deedhouse_run('RenewDomain', $params, static function (Session $session, Names $names, string $name) use ($params): array {
        $paidFrom = Capsule::table('tbldomains')->where('id', (int) $params['domainid'])->value('expirydate');
        $renewal = new Renewal($session, (string) $params['domainid'], $name, max(1, (int) $params['regperiod']), substr((string) $paidFrom, 0, 10));
        $renewal->complete();
        return ['success' => true];
    });
}

function deedhouse_TransferDomain(array $params): array
{
    return ['error' => 'Deedhouse does not take over names from other registrars. Transfer this name with another registrar module.'];
}

/**
 * What WHMCS shows of a name. WHMCS reads a value that is not set as unknown.
 *
 * @throws Refusal WHMCS shows the text
 */
function deedhouse_GetDomainInformation(array $params): Domain
{
    $answer = deedhouse_run('GetDomainInformation', $params, static function (Session $session, Names $names, string $name): array {
        $found = $session->client->getDomain($name)->data ?? [];
        // RFC 5731 §2.3: a name on hold is not in the zone.
        $isOnHold = array_intersect(['clientHold', 'serverHold'], $found['statuses']) !== [];
        $shown = (new Domain())
            ->setDomain($found['domain_name'])
            ->setNameservers(deedhouse_numbered($names->hosts($found)))
            ->setRegistrationStatus(match (true) {
                in_array('pendingDelete', $found['statuses'], true) => Domain::STATUS_PENDING_DELETE,
                strtotime($found['expiration_date']) < time() => Domain::STATUS_EXPIRED,
                $isOnHold => Domain::STATUS_SUSPENDED,
                default => Domain::STATUS_ACTIVE,
            })
            ->setTransferLock($found['transfer_locked'])
            ->setExpiryDate(Carbon::createFromFormat('Y-m-d', substr($found['expiration_date'], 0, 10)));
        $email = deedhouse_registrantEmail($session, $name);
        return ['domain' => $email === null ? $shown : $shown->setRegistrantEmailAddress($email)];
    });
    return $answer['domain'] ?? throw new Refusal($answer['error']);
}

/** @return ?string null also when the key may not read contacts: WHMCS shows the rest then */
function deedhouse_registrantEmail(Session $session, string $name): ?string
{
    try {
        return $session->client->getContacts($name)->data['registrant']['email'] ?? null;
    } catch (ApiException $refused) {
        return $refused->errorCode === 'authorization_scope_missing' ? null : throw $refused;
    }
}

function deedhouse_GetNameservers(array $params): array
{
    return deedhouse_run('GetNameservers', $params, static function (Session $session, Names $names, string $name): array {
        return deedhouse_numbered($names->hosts($session->client->getDomain($name)->data ?? []));
    });
}

/** @param list<string> $hosts @return array<string, string> with WHMCS' keys: ns1, ns2 … */
function deedhouse_numbered(array $hosts): array
{
    $keys = array_map(static fn (int $index): string => 'ns' . ($index + 1), array_keys($hosts));
    return array_combine($keys, $hosts);
}

function deedhouse_SaveNameservers(array $params): array
{
    return deedhouse_run('SaveNameservers', $params, static function (Session $session, Names $names, string $name) use ($params): array {
        $names->setNameServers($name, deedhouse_nameServers($params));
        return ['success' => true];
    });
}

function deedhouse_GetContactDetails(array $params): array
{
    return deedhouse_run('GetContactDetails', $params, static fn (Session $session, Names $names, string $name): array => deedhouse_shownContacts($session->client->getContacts($name)->data ?? []));
}

function deedhouse_SaveContactDetails(array $params): array
{
    return deedhouse_run('SaveContactDetails', $params, static function (Session $session, Names $names, string $name) use ($params): array {
        $shown = $session->client->getContacts($name)->data ?? [];
        $names->setContacts($name, deedhouse_changedContacts($params['contactdetails'], $shown));
        return ['success' => true];
    });
}

function deedhouse_GetRegistrarLock(array $params): string|array
{
    $answer = deedhouse_run('GetRegistrarLock', $params, static function (Session $session, Names $names, string $name): array {
        return ['lock' => $session->client->getDomain($name)->data['transfer_locked'] ? 'locked' : 'unlocked'];
    });
    return $answer['lock'] ?? $answer;
}

function deedhouse_SaveRegistrarLock(array $params): array
{
    return deedhouse_run('SaveRegistrarLock', $params, static function (Session $session, Names $names, string $name) use ($params): array {
        $names->lock($name, $params['lockenabled'] === 'locked');
        return ['success' => true];
    });
}

function deedhouse_GetEPPCode(array $params): array
{
    return deedhouse_run('GetEPPCode', $params, static fn (Session $session, Names $names, string $name): array => ['eppcode' => $names->authCode($name)]);
}

function deedhouse_RegisterNameserver(array $params): array
{
    return deedhouse_run('RegisterNameserver', $params, static function (Session $session, Names $names, string $name) use ($params): array {
        $names->setHost($name, $params['nameserver'], [$params['ipaddress']], mustExist: false);
        return ['success' => true];
    });
}

function deedhouse_ModifyNameserver(array $params): array
{
    return deedhouse_run('ModifyNameserver', $params, static function (Session $session, Names $names, string $name) use ($params): array {
        $names->setHost($name, $params['nameserver'], [$params['newipaddress']], mustExist: true);
        return ['success' => true];
    });
}

function deedhouse_DeleteNameserver(array $params): array
{
    return deedhouse_run('DeleteNameserver', $params, static function (Session $session, Names $names, string $name) use ($params): array {
        $names->setHost($name, $params['nameserver'], [], mustExist: true);
        return ['success' => true];
    });
}

function deedhouse_RequestDelete(array $params): array
{
    return deedhouse_run('RequestDelete', $params, static function (Session $session, Names $names, string $name): array {
        $names->delete($name);
        return ['success' => true];
    });
}

function deedhouse_Sync(array $params): array
{
    return deedhouse_run('Sync', $params, static function (Session $session, Names $names, string $name) use ($params): array {
        $domain = $names->find($name);
        $order = $domain === null ? $names->newestOrder($name, 'create') : null;
        $status = $order['status'] ?? null;
        if (in_array($status, Names::OPEN, true)) {
            return ['active' => false, 'cancelled' => false, 'transferredAway' => false];
        }
        // The order may have finished since the first look.
        $domain ??= $status === 'Finished' ? $names->find($name) : null;
        if ($domain !== null) {
            $isExpired = strtotime($domain['expiration_date']) < time();
            return ['active' => !$isExpired, 'expired' => $isExpired, 'expirydate' => substr($domain['expiration_date'], 0, 10)];
        }
        if ($order !== null && $status !== 'Finished') {
            $reason = $order['error_text'] ?? 'Deedhouse gave no reason.';
            throw new Refusal("The registration of {$name} failed ({$status}): {$reason} Register it again, or refund it.");
        }
        $left = $names->departure($name);
        return match ($left['reason'] ?? null) {
            'transferred' => ['active' => false, 'transferredAway' => true],
            'deleted', 'expired' => ['active' => false, 'cancelled' => true],
            default => throw new Refusal("{$name} is not among the names of this Deedhouse account."),
        };
    });
}

function deedhouse_TransferSync(array $params): array
{
    return ['error' => 'Deedhouse does not take over names from other registrars, so no transfer of this name is in progress.'];
}

/** @return list<string> */
function deedhouse_nameServers(array $params): array
{
    $hosts = array_map(static fn (int $number): string => trim((string) ($params["ns{$number}"] ?? '')), range(1, 5));
    return array_values(array_filter($hosts));
}

/** @return ?array{amount: string, currency: string} the cost to which the buyer's price belongs */
function deedhouse_agreedPrice(array $params): ?array
{
    if (empty($params['premiumEnabled']) || empty($params['premiumCost'])) {
        return null;
    }
    $currency = Capsule::table('tbldomains_extra')
        ->where('domain_id', (int) $params['domainid'])
        ->where('name', 'registrarCurrency')
        ->value('value');
    $code = Capsule::table('tblcurrencies')->where('id', (int) $currency)->value('code');
    return ['amount' => (string) $params['premiumCost'], 'currency' => (string) $code];
}

/** Two clients may have ordered one name: only the entry that is not given up has it. */
function deedhouse_isFree(string $name, int $entry): bool
{
    return !Capsule::table('tbldomains')
        ->where('domain', $name)
        ->where('id', '!=', $entry)
        ->whereIn('status', ['Active', 'Pending Registration', 'Grace', 'Redemption'])
        ->exists();
}
