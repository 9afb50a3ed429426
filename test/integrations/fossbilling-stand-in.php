<?php

/**
 * Stands in for FOSSBilling 0.7: the classes of its src/library that the adapter and the manager extend or get, each named where it
 * stands. Values are kept by the names of their setters. Reads a call from its standard input, and prints the answer.
 */

declare(strict_types=1);

set_error_handler(static fn (int $level, string $text, string $file, int $line) => throw new ErrorException($text, 0, $level, $file, $line));

/** What the values of FOSSBilling have in common here: a setter that returns its object, and a getter. */
abstract class StandInValues
{
    /** @var array<string, mixed> */
    public array $values = [];

    /** @param list<mixed> $arguments */
    public function __call(string $method, array $arguments): mixed
    {
        $name = substr($method, 3);
        if (str_starts_with($method, 'set')) {
            $this->values[$name] = $arguments[0];
            return $this;
        }
        return str_starts_with($method, 'get') ? $this->values[$name] ?? null : throw new LogicException("there is no {$method}");
    }
}

/** Mirrors Registrar_Domain_Contact (Registrar/Domain/Contact.php). */
final class Registrar_Domain_Contact extends StandInValues
{
    public function getAddress(): string
    {
        return implode(' ', [$this->getAddress1(), $this->getAddress2(), $this->getAddress3()]);
    }
}

/** Mirrors Registrar_Domain (Registrar/Domain.php); a TLD begins with a dot. */
final class Registrar_Domain extends StandInValues
{
    public function getName(): string
    {
        return $this->getSld() . $this->getTld();
    }
}

/** Mirrors Model_ClientOrder: a row of client_order. */
final class Model_ClientOrder
{
    public int $id = 0;
}

/** Mirrors Registrar_Exception (Registrar/Exception.php). */
final class Registrar_Exception extends Exception
{
    public function __construct(string $message, ?array $variables = null, int $code = 0)
    {
        parent::__construct(strtr($message, $variables ?? []), $code);
    }
}

/** Mirrors Server_Exception (Server/Exception.php). */
final class Server_Exception extends Exception
{
    public function __construct(string $message, ?array $variables = null, int $code = 0)
    {
        parent::__construct(strtr($message, $variables ?? []), $code);
    }
}

/** Mirrors Registrar_AdapterAbstract (Registrar/AdapterAbstract.php): what an adapter must have. */
abstract class Registrar_AdapterAbstract
{
    protected ?Model_ClientOrder $_order = null;

    abstract public static function getConfig();
    abstract public function isDomainAvailable(Registrar_Domain $domain);
    abstract public function isDomaincanBeTransferred(Registrar_Domain $domain);
    abstract public function modifyNs(Registrar_Domain $domain);
    abstract public function modifyContact(Registrar_Domain $domain);
    abstract public function transferDomain(Registrar_Domain $domain);
    abstract public function getDomainDetails(Registrar_Domain $domain);
    abstract public function getEpp(Registrar_Domain $domain);
    abstract public function registerDomain(Registrar_Domain $domain);
    abstract public function renewDomain(Registrar_Domain $domain);
    abstract public function deleteDomain(Registrar_Domain $domain);
    abstract public function enablePrivacyProtection(Registrar_Domain $domain);
    abstract public function disablePrivacyProtection(Registrar_Domain $domain);
    abstract public function lock(Registrar_Domain $domain);
    abstract public function unlock(Registrar_Domain $domain);

    public function setOrder(Model_ClientOrder $order): static
    {
        $this->_order = $order;
        return $this;
    }
}

/** Mirrors Server_Package (Server/Package.php). */
final class Server_Package extends StandInValues
{
    public function getCustomValue(string $name): ?string
    {
        return $this->values['CustomValues'][$name] ?? null;
    }
}

/** Mirrors Server_Client (Server/Client.php). */
final class Server_Client extends StandInValues
{
}

/** Mirrors Server_Account (Server/Account.php). */
final class Server_Account extends StandInValues
{
}

/** Mirrors Server_Manager (Server/Manager.php): what a manager must have. */
abstract class Server_Manager
{
    protected array $_config = ['ip' => null, 'host' => null, 'secure' => false, 'username' => null, 'password' => null, 'accesshash' => null, 'config' => null, 'port' => null];

    public function __construct(array $options)
    {
        $this->_config = [...$this->_config, ...$options];
        $this->init();
    }

    protected function init()
    {
    }

    public function generateUsername(string $domain)
    {
        return substr($domain, 0, 8);
    }

    abstract public function getLoginUrl(?Server_Account $account);
    abstract public function getResellerLoginUrl(?Server_Account $account);
    abstract public function testConnection();
    abstract public function createAccount(Server_Account $account);
    abstract public function synchronizeAccount(Server_Account $account);
    abstract public function suspendAccount(Server_Account $account);
    abstract public function unsuspendAccount(Server_Account $account);
    abstract public function cancelAccount(Server_Account $account);
    abstract public function changeAccountPassword(Server_Account $account, string $newPassword);
    abstract public function changeAccountUsername(Server_Account $account, string $newUsername);
    abstract public function changeAccountDomain(Server_Account $account, string $newDomain);
    abstract public function changeAccountIp(Server_Account $account, string $newIp);
    abstract public function changeAccountPackage(Server_Account $account, Server_Package $package);
}

/** @param array<string, mixed> $values */
function filled(StandInValues $object, array $values): StandInValues
{
    foreach ($values as $name => $value) {
        $object->{"set{$name}"}(match ($name) {
            'ContactRegistrar' => filled(new Registrar_Domain_Contact(), $value),
            'Client' => filled(new Server_Client(), $value),
            'Package' => filled(new Server_Package(), $value),
            default => $value,
        });
    }
    return $object;
}

$call = json_decode((string) stream_get_contents(STDIN), true, flags: JSON_THROW_ON_ERROR);
require_once $call['module'];
try {
    $isServer = is_subclass_of($call['class'], Server_Manager::class);
    $object = new ($call['class'])($call['options']);
    if (isset($call['order'])) {
        $order = new Model_ClientOrder();
        $order->id = $call['order'];
        $object->setOrder($order);
    }
    $subject = filled($isServer ? new Server_Account() : new Registrar_Domain(), $call['values']);
    $more = array_map(static fn ($one) => is_array($one) ? filled(new Server_Package(), $one) : $one, $call['more'] ?? []);
    $answer = $call['method'] === 'testConnection' ? $object->testConnection() : $object->{$call['method']}($subject, ...$more);
    echo json_encode(['answer' => $answer instanceof StandInValues ? $answer->values : $answer], JSON_THROW_ON_ERROR);
} catch (Registrar_Exception | Server_Exception $error) {
    echo json_encode(['error' => $error->getMessage()], JSON_THROW_ON_ERROR);
}
