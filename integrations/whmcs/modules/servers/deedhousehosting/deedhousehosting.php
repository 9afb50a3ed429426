<?php

// WHMCS finds a module's functions by their names: the module's, and what they do.

declare(strict_types=1);

use Deedhouse\Panel\Hosting;
use Deedhouse\Panel\Refusal;
use Deedhouse\Panel\Session;
use WHMCS\Database\Capsule;
use WHMCS\Service\Status;

if (!defined('WHMCS')) {
    exit('This file is a module of WHMCS.');
}

require_once __DIR__ . '/lib/autoload.php';

const DEEDHOUSEHOSTING_MEGABYTE = 1024 * 1024;

function deedhousehosting_MetaData(): array
{
    return [
        'DisplayName' => 'Deedhouse',
        'APIVersion' => '1.1',
        'RequiresServer' => true,
        'DefaultNonSSLPort' => '80',
        'DefaultSSLPort' => '443',
        // How the server sync tool of WHMCS compares accounts with its services.
        'ListAccountsUniqueIdentifierDisplayName' => 'Domain',
        'ListAccountsUniqueIdentifierField' => 'domain',
        'ListAccountsProductField' => 'configoption1',
    ];
}

function deedhousehosting_ConfigOptions(): array
{
    return [
        'Service pack' => ['Type' => 'text', 'Size' => '20', 'Description' => 'Its id, as GET /servicepacks shows it'],
        'Name of this WHMCS' => [
            'Type' => 'text',
            'Size' => '20',
            'Default' => 'whmcs',
            'Description' => 'Never change it. Give each WHMCS that uses the same Deedhouse account a name of its own',
        ],
    ];
}

function deedhousehosting_hosting(array $params): Hosting
{
    $isSecure = !empty($params['serversecure']);
    $host = (string) ($params['serverhostname'] ?: ($params['serverip'] ?? ''));
    $port = (string) ($params['serverport'] ?? '');
    $url = ($isSecure ? 'https' : 'http') . "://{$host}" . ($port === '' ? '' : ":{$port}");
    return new Hosting(new Session(
        $url,
        (string) ($params['serverusername'] ?? ''),
        (string) ($params['serverpassword'] ?? ''),
        'whmcs ' . ($params['configoption2'] ?? ''),
    ));
}

/** @param Closure(Hosting, string): void $work gets the account's identifier */
function deedhousehosting_runOnServer(string $action, array $params, Closure $work): string
{
    $identifier = strtolower(trim((string) ($params['domain'] ?? '')));
    try {
        $work(deedhousehosting_hosting($params), $identifier);
        $answer = 'success';
    } catch (Throwable $error) {
        $answer = Session::say($error);
    }
    $secrets = array_filter([$params['serverpassword'] ?? '', $params['password'] ?? '']);
    $request = ['domain' => $identifier, 'serviceid' => $params['serviceid'] ?? null];
    logModuleCall('deedhousehosting', $action, $request, $answer, $answer, array_values($secrets));
    return $answer;
}

function deedhousehosting_TestConnection(array $params): array
{
    $answer = deedhousehosting_runOnServer('TestConnection', $params, static fn (Hosting $hosting) => $hosting->countPacks());
    return ['success' => $answer === 'success', 'error' => $answer === 'success' ? '' : $answer];
}

function deedhousehosting_CreateAccount(array $params): string
{
    return deedhousehosting_runOnServer('CreateAccount', $params, static function (Hosting $hosting, string $identifier) use ($params): void {
        $service = (int) $params['serviceid'];
        $account = $hosting->create(
            (string) $service,
            $identifier,
            (string) ($params['configoption1'] ?? ''),
            (string) $params['password'],
            static fn (): bool => deedhousehosting_isFree($identifier, $params),
        );
        // WHMCS shows the client this user name, and Deedhouse alone knows it.
        Capsule::table('tblhosting')->where('id', $service)->update(['username' => $account['ftp']['username'] ?? $identifier]);
    });
}

function deedhousehosting_SuspendAccount(array $params): string
{
    return deedhousehosting_runOnServer('SuspendAccount', $params, static function (Hosting $hosting, string $identifier) use ($params): void {
        deedhousehosting_requireOwn($identifier, $params);
        $hosting->suspend($identifier, $params['suspendreason'] ?? null);
    });
}

function deedhousehosting_UnsuspendAccount(array $params): string
{
    return deedhousehosting_runOnServer('UnsuspendAccount', $params, static function (Hosting $hosting, string $identifier) use ($params): void {
        deedhousehosting_requireOwn($identifier, $params);
        $hosting->unsuspend($identifier);
    });
}

function deedhousehosting_TerminateAccount(array $params): string
{
    return deedhousehosting_runOnServer('TerminateAccount', $params, static function (Hosting $hosting, string $identifier) use ($params): void {
        deedhousehosting_requireOwn($identifier, $params);
        $hosting->delete($identifier);
    });
}

function deedhousehosting_ChangePassword(array $params): string
{
    return deedhousehosting_runOnServer('ChangePassword', $params, static function (Hosting $hosting, string $identifier) use ($params): void {
        deedhousehosting_requireOwn($identifier, $params);
        $hosting->setPassword($identifier, (string) $params['password']);
    });
}

function deedhousehosting_ChangePackage(array $params): string
{
    return deedhousehosting_runOnServer('ChangePackage', $params, static function (Hosting $hosting, string $identifier) use ($params): void {
        $hosting->requirePack($identifier, (string) ($params['configoption1'] ?? ''));
    });
}

function deedhousehosting_UsageUpdate(array $params): string
{
    return deedhousehosting_runOnServer('UsageUpdate', $params, static function (Hosting $hosting) use ($params): void {
        foreach ($hosting->all() as $account) {
            $usage = ['lastupdate' => gmdate('Y-m-d H:i:s')];
            $fields = ['diskusage' => 'disk_used_bytes', 'disklimit' => 'disk_quota_bytes', 'bwusage' => 'traffic_used_bytes', 'bwlimit' => 'traffic_bytes_month'];
            foreach ($fields as $column => $field) {
                if (isset($account[$field])) {
                    $usage[$column] = intdiv((int) $account[$field], DEEDHOUSEHOSTING_MEGABYTE);
                }
            }
            Capsule::table('tblhosting')->where('server', (int) $params['serverid'])->where('domain', $account['identifier'])->update($usage);
        }
    });
}

/** All accounts, for the server sync tool of WHMCS. One that is being deleted is none any more. */
function deedhousehosting_ListAccounts(array $params): array
{
    $accounts = [];
    $answer = deedhousehosting_runOnServer('ListAccounts', $params, static function (Hosting $hosting) use (&$accounts): void {
        foreach ($hosting->all() as $account) {
            if (!isset($account['removal_requested_at'])) {
                $accounts[] = deedhousehosting_listed($account);
            }
        }
    });
    return $answer === 'success' ? ['success' => true, 'accounts' => $accounts] : ['success' => false, 'error' => $answer];
}

/** @param array<string, mixed> $account as the API shows it */
function deedhousehosting_listed(array $account): array
{
    return [
        // Deedhouse knows no client of an account.
        'email' => '',
        'username' => $account['ftp']['username'],
        'domain' => $account['identifier'],
        'uniqueIdentifier' => $account['identifier'],
        'product' => $account['servicepack_id'],
        'primaryip' => filter_var($account['ftp']['host'] ?? '', FILTER_VALIDATE_IP) ?: '',
        'created' => date('Y-m-d H:i:s', strtotime($account['created_at'])),
        'status' => $account['status'] === 'Suspended' ? Status::SUSPENDED : Status::ACTIVE,
    ];
}

/** Two services may have one domain: only the one that is not given up has the account. */
function deedhousehosting_isFree(string $identifier, array $params): bool
{
    return !Capsule::table('tblhosting')
        ->where('domain', $identifier)
        ->where('server', (int) ($params['serverid'] ?? 0))
        ->where('id', '!=', (int) $params['serviceid'])
        ->whereIn('domainstatus', ['Active', 'Suspended'])
        ->exists();
}

function deedhousehosting_requireOwn(string $identifier, array $params): void
{
    if (!deedhousehosting_isFree($identifier, $params)) {
        throw new Refusal("The account {$identifier} belongs to another service of this panel.");
    }
}
