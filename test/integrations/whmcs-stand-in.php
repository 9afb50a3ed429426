<?php

/**
 * Stands in for WHMCS 8: the classes and functions that the modules use, as https://developers.whmcs.com describes them and the
 * sample modules of WHMCS (WHMCS/sample-registrar-module, sample-provisioning-module) call them. Reads a call from its standard
 * input, and prints the answer. Tables are a JSON file, which several processes may use.
 */

declare(strict_types=1);

namespace WHMCS\Database {
    /** Mirrors the part of Illuminate's query builder (WHMCS\Database\Capsule of WHMCS 8) that the modules use. */
    final class Capsule
    {
        public static string $file = '';
        /** @var list<\Closure(array<string, mixed>): bool> */
        private array $conditions = [];

        private function __construct(private readonly string $name)
        {
        }

        public static function table(string $name): self
        {
            return new self($name);
        }

        public function where(string $column, mixed $operator, mixed $value = null): self
        {
            $isEqual = func_num_args() === 2 || $operator === '=';
            $wanted = func_num_args() === 2 ? $operator : $value;
            $this->conditions[] = static fn (array $row): bool => ($row[$column] == $wanted) === $isEqual;
            return $this;
        }

        /** @param list<mixed> $values */
        public function whereIn(string $column, array $values): self
        {
            $this->conditions[] = static fn (array $row): bool => in_array($row[$column], $values, true);
            return $this;
        }

        public function exists(): bool
        {
            return $this->rows() !== [];
        }

        public function value(string $column): mixed
        {
            $rows = $this->rows();
            return $rows === [] ? null : reset($rows)[$column];
        }

        /** @param array<string, mixed> $values */
        public function update(array $values): int
        {
            $changed = $this->rows();
            $tables = self::tables();
            foreach (array_keys($changed) as $index) {
                $tables[$this->name][$index] = [...$tables[$this->name][$index], ...$values];
            }
            file_put_contents(self::$file, json_encode($tables, JSON_THROW_ON_ERROR), LOCK_EX);
            return count($changed);
        }

        /** @return array<int, array<string, mixed>> */
        private function rows(): array
        {
            $matches = fn (array $row): bool => array_reduce($this->conditions, static fn (bool $all, $one): bool => $all && $one($row), true);
            return array_filter(self::tables()[$this->name] ?? [], $matches);
        }

        /** @return array<string, list<array<string, mixed>>> */
        private static function tables(): array
        {
            return json_decode((string) file_get_contents(self::$file), true, flags: JSON_THROW_ON_ERROR);
        }
    }
}

namespace WHMCS {
    /** Mirrors WHMCS\Carbon of WHMCS 8, which is a DateTime. */
    final class Carbon extends \DateTime
    {
    }
}

namespace WHMCS\Service {
    /** Mirrors WHMCS\Service\Status of WHMCS 8. */
    final class Status
    {
        public const ACTIVE = 'Active';
        public const SUSPENDED = 'Suspended';
    }
}

namespace WHMCS\Domain\Registrar {
    use WHMCS\Carbon;

    /**
     * Mirrors WHMCS\Domain\Registrar\Domain of WHMCS 8 (https://developers.whmcs.com/classes/whmcs/domain/registrar/domain); its
     * constants have values of this file's own.
     */
    final class Domain
    {
        public const STATUS_ACTIVE = 'active';
        public const STATUS_EXPIRED = 'expired';
        public const STATUS_SUSPENDED = 'suspended';
        public const STATUS_PENDING_DELETE = 'pending delete';

        /** @var array<string, mixed> what was set */
        public array $values = [];

        public function setDomain(string $domain): self
        {
            return $this->set('domain', $domain);
        }

        /** @param array<string, string> $nameServers ns1 and so on */
        public function setNameservers(array $nameServers): self
        {
            return $this->set('nameservers', $nameServers);
        }

        public function setRegistrationStatus(string $status): self
        {
            return $this->set('status', $status);
        }

        public function setTransferLock(bool $isLocked): self
        {
            return $this->set('transferLock', $isLocked);
        }

        public function setExpiryDate(?Carbon $date): self
        {
            return $this->set('expiryDate', $date?->format('Y-m-d'));
        }

        public function setRegistrantEmailAddress(?string $email): self
        {
            return $this->set('registrantEmail', $email);
        }

        private function set(string $name, mixed $value): self
        {
            $this->values[$name] = $value;
            return $this;
        }
    }
}

namespace WHMCS\Domains\DomainLookup {
    /** Mirrors WHMCS\Domains\DomainLookup\ResultsList of WHMCS 8. */
    final class ResultsList extends \ArrayObject
    {
    }

    /** Mirrors WHMCS\Domains\DomainLookup\SearchResult of WHMCS 8; its constants have values of this file's own. */
    final class SearchResult
    {
        public const STATUS_NOT_REGISTERED = 'not registered';
        public const STATUS_REGISTERED = 'registered';
        public const STATUS_RESERVED = 'reserved';
        public const STATUS_UNKNOWN = 'unknown';
        public const STATUS_TLD_NOT_SUPPORTED = 'suffix not supported';

        public string $status = '';
        public bool $isPremium = false;
        /** @var array<string, string> */
        public array $costs = [];

        public function __construct(public readonly string $sld, public readonly string $tld)
        {
        }

        public function setStatus(string $status): void
        {
            $this->status = $status;
        }

        public function setPremiumDomain(bool $isPremium): void
        {
            $this->isPremium = $isPremium;
        }

        /** @param array<string, string> $costs */
        public function setPremiumCostPricing(array $costs): void
        {
            $this->costs = $costs;
        }
    }
}

namespace {
    use WHMCS\Database\Capsule;

    set_error_handler(static fn (int $level, string $text, string $file, int $line) => throw new ErrorException($text, 0, $level, $file, $line));
    const WHMCS = true;
    $logged = [];

    /** Mirrors WHMCS' function of this name, which removes the given texts. */
    function logModuleCall(string $module, string $action, mixed $request, mixed $response, mixed $data = '', array $hidden = []): void
    {
        global $logged;
        $logged[] = str_replace($hidden, '***', json_encode([$module, $action, $request, $response, $data], JSON_THROW_ON_ERROR));
    }

    $call = json_decode((string) stream_get_contents(STDIN), true, flags: JSON_THROW_ON_ERROR);
    Capsule::$file = $call['tables'];
    foreach ($call['modules'] as $module) {
        require_once $module;
    }
    try {
        $answer = ($call['function'])($call['params']);
    } catch (Exception $error) {
        // WHMCS shows the text of an exception.
        $answer = ['thrown' => $error->getMessage()];
    }
    $shown = match (true) {
        $answer instanceof ArrayObject => $answer->getArrayCopy(),
        $answer instanceof WHMCS\Domain\Registrar\Domain => $answer->values,
        default => $answer,
    };
    echo json_encode(['answer' => $shown, 'logged' => $logged], JSON_THROW_ON_ERROR);
}
