<?php

declare(strict_types=1);

use Deedhouse\Panel\Hosting;
use Deedhouse\Panel\Refusal;
use Deedhouse\Panel\Session;

require_once __DIR__ . '/../../Deedhouse/autoload.php';

class Server_Manager_Deedhouse extends Server_Manager
{
    private const WAIT_SECONDS = 45;
    /** The custom parameter of a hosting plan with the id of its service pack. */
    private const PACK = 'servicepack_id';

    public static function getForm(): array
    {
        $field = static fn (string $name, string $type, string $label): array => [
            'name' => $name,
            'type' => $type,
            'label' => $label,
            'placeholder' => $label,
            'required' => true,
        ];
        return [
            'label' => 'Deedhouse',
            'form' => ['credentials' => ['fields' => [
                $field('username', 'text', 'API key'),
                $field('password', 'password', 'API secret'),
            ]]],
        ];
    }

    public function init(): void
    {
        foreach (['host' => 'hostname', 'username' => 'API key', 'password' => 'API secret'] as $name => $label) {
            if (empty($this->_config[$name])) {
                throw new Server_Exception("The server is not configured completely: its {$label} is missing.", null, 2001);
            }
        }
    }

    /** A user name is the FTP login: an account's domain. */
    public function generateUsername(string $domain): string
    {
        return strtolower($domain);
    }

    public function getLoginUrl(?Server_Account $account): string
    {
        return $this->url();
    }

    public function getResellerLoginUrl(?Server_Account $account): string
    {
        return $this->url();
    }

    public function testConnection(): bool
    {
        $this->run(static fn (Hosting $hosting): int => $hosting->countPacks());
        return true;
    }

    public function createAccount(Server_Account $account): bool
    {
        return $this->run(function (Hosting $hosting) use ($account): bool {
            $identifier = $this->identifier($account);
            $client = (string) $account->getClient()?->getEmail();
            $hosting->create($client, $identifier, $this->pack($account->getPackage()), (string) $account->getPassword(), null);
            return true;
        });
    }

    public function synchronizeAccount(Server_Account $account): Server_Account
    {
        return $this->run(function (Hosting $hosting) use ($account): Server_Account {
            $found = $hosting->find($this->identifier($account));
            if ($found === null) {
                throw new Refusal("Deedhouse has no account {$this->identifier($account)}.");
            }
            $new = clone $account;
            $new->setSuspended($found['status'] === 'Suspended');
            $new->setUsername($found['ftp']['username'] ?? $account->getUsername());
            return $new;
        });
    }

    /** FOSSBilling tells a server manager no reason. */
    public function suspendAccount(Server_Account $account): bool
    {
        return $this->run(function (Hosting $hosting) use ($account): bool {
            $hosting->suspend($this->identifier($account), null);
            return true;
        });
    }

    public function unsuspendAccount(Server_Account $account): bool
    {
        return $this->run(function (Hosting $hosting) use ($account): bool {
            $hosting->unsuspend($this->identifier($account));
            return true;
        });
    }

    public function cancelAccount(Server_Account $account): bool
    {
        // FOSSBilling stores the user name after a creation. Without one, an account of this domain belongs to another service.
        if ((string) $account->getUsername() === '') {
            return true;
        }
        return $this->run(function (Hosting $hosting) use ($account): bool {
            $hosting->delete($this->identifier($account));
            return true;
        });
    }

    public function changeAccountPassword(Server_Account $account, string $newPassword): bool
    {
        return $this->run(function (Hosting $hosting) use ($account, $newPassword): bool {
            $hosting->setPassword($this->identifier($account), $newPassword);
            return true;
        });
    }

    public function changeAccountPackage(Server_Account $account, Server_Package $package): bool
    {
        return $this->run(function (Hosting $hosting) use ($account, $package): bool {
            $hosting->requirePack($this->identifier($account), $this->pack($package));
            return true;
        });
    }

    public function changeAccountUsername(Server_Account $account, string $newUsername): bool
    {
        throw new Server_Exception('Deedhouse chooses the user names of its accounts.');
    }

    public function changeAccountDomain(Server_Account $account, string $newDomain): bool
    {
        throw new Server_Exception('The domain of an account cannot be changed at Deedhouse.');
    }

    public function changeAccountIp(Server_Account $account, string $newIp): bool
    {
        throw new Server_Exception('Deedhouse chooses the addresses of its accounts.');
    }

    private function url(): string
    {
        $port = empty($this->_config['port']) ? '' : ":{$this->_config['port']}";
        return ($this->_config['secure'] ? 'https' : 'http') . "://{$this->_config['host']}{$port}";
    }

    private function identifier(Server_Account $account): string
    {
        return strtolower((string) $account->getDomain());
    }

    private function pack(Server_Package $package): string
    {
        return (string) ($package->getCustomValue(self::PACK) ?? '');
    }

    /**
     * @template T
     * @param Closure(Hosting): T $work
     * @return T
     */
    private function run(Closure $work): mixed
    {
        try {
            return $work(new Hosting(new Session(
                $this->url(),
                (string) $this->_config['username'],
                (string) $this->_config['password'],
                'fossbilling',
                waitSeconds: self::WAIT_SECONDS,
            )));
        } catch (Throwable $error) {
            throw new Server_Exception(Session::say($error));
        }
    }
}
