<?php

declare(strict_types=1);

// Makes the calls that a test writes to stdin, and prints what came of them. Each line is JSON: first the client's options, then calls.

require dirname(__DIR__, 2) . '/client/php/autoload.php';

use Deedhouse\Answer;
use Deedhouse\Client;
use Deedhouse\Clock;
use Deedhouse\ExportableItems;
use Deedhouse\PlacedAccount;
use Deedhouse\PlacedOrder;
use Deedhouse\RetryNotice;
use Deedhouse\Signature;

error_reporting(E_ALL);
ini_set('display_errors', 'stderr');

/** Never waits: a sleep advances its time, and is recorded. */
final class InstantClock implements Clock
{
    private float $passed = 0;
    /** @var list<float> */
    public array $slept = [];

    public function now(): float
    {
        return microtime(true) + $this->passed;
    }

    public function monotonic(): float
    {
        return $this->passed;
    }

    public function sleep(float $seconds): void
    {
        $this->slept[] = $seconds;
        $this->passed += $seconds;
    }
}

final class Bridge
{
    private ?InstantClock $clock = null;
    /** @var list<int> */
    private array $retries = [];
    private Client $client;
    private PlacedOrder|PlacedAccount|null $placed = null;

    /** @param array<string, mixed> $options */
    public function __construct(array $options)
    {
        $this->clock = ($options['isInstant'] ?? false) ? new InstantClock() : null;
        unset($options['isInstant']);
        $onRetry = function (RetryNotice $notice): void {
            $this->retries[] = $notice->retry;
        };
        $this->client = new Client(...$options, onRetry: $onRetry, clock: $this->clock);
    }

    /** @param array{method: string, args: array<string, mixed>, items_max?: int} $call */
    public function say(array $call): string
    {
        $said = [];
        try {
            $said['result'] = $this->call($call['method'], $call['args'], $call['items_max'] ?? null);
        } catch (\RuntimeException | \InvalidArgumentException $error) {
            $kind = str_replace('Exception', '', (new ReflectionClass($error))->getShortName());
            $said['error'] = [...get_object_vars($error), 'type' => $kind, 'message' => $error->getMessage()];
        }
        $said['slept'] = $this->clock?->slept ?? [];
        $said['retries'] = $this->retries;
        $this->retries = [];
        if ($this->clock !== null) {
            $this->clock->slept = [];
        }
        return json_encode($said, JSON_THROW_ON_ERROR | JSON_UNESCAPED_UNICODE);
    }

    /** @param array<string, mixed> $args */
    private function call(string $method, array $args, ?int $itemsMax): mixed
    {
        if ($method === 'sign') {
            $signature = new Signature(...$args);
            return ['stringToSign' => $signature->stringToSign(), 'authorization' => $signature->authorization()];
        }
        if ($method === 'open') {
            new self($args);
            return [];
        }
        if ($method === 'methods') {
            return ['close', ...self::methodsOf($this->client)];
        }
        $args = array_map(fn (mixed $value): mixed => $value === 'placed!' ? $this->placed : $value, $args);
        [$path, $how] = [...explode('().', $method), ''];
        $statuses = [];
        if (preg_match('/\\.(finished|provisioned|wait)$/', $path) === 1) {
            $args['onStatus'] = static function (Answer $answer) use (&$statuses): void {
                $statuses[] = $answer->data['status'];
            };
        }
        $ofList = $how === '' ? [] : array_intersect_key($args, array_flip(['skip', 'take', 'file', 'mode']));
        $names = explode('.', $path);
        $name = array_pop($names);
        $collection = array_reduce($names, static fn (object $outer, string $inner): object => $outer->{$inner}, $this->client);
        $result = $collection->{$name}(...array_diff_key($args, $ofList));
        if ($how !== '') {
            $result = $how === 'csv' ? self::export($result, $ofList) : $result->page(...$ofList);
        }
        if ($result instanceof Traversable) {
            $items = $result instanceof Generator ? $result : $result->getIterator();
            return ['items' => iterator_to_array(new LimitIterator(new NoRewindIterator($items), 0, $itemsMax ?? -1), false)];
        }
        if ($result instanceof PlacedOrder || $result instanceof PlacedAccount) {
            $this->placed = $result;
        }
        if (is_string($result)) {
            return ['data' => $result];
        }
        return $result instanceof Answer ? [...get_object_vars($result), ...($statuses === [] ? [] : ['statuses' => $statuses])] : $result;
    }

    /** @return list<string> as `hosting.packs.list` */
    private static function methodsOf(object $outer, string $path = ''): array
    {
        $found = [];
        foreach (get_object_vars($outer) as $name => $inner) {
            $own = array_diff(get_class_methods($inner), ['__construct']);
            $found = [...$found, ...array_map(static fn (string $method): string => "{$path}{$name}.{$method}", $own)];
            $found = [...$found, ...self::methodsOf($inner, "{$path}{$name}.")];
        }
        return $found;
    }

    /**
     * Writes a list to `file`, opened with `mode`.
     *
     * @param array<string, string> $args
     * @return array{peakBytes: int}
     */
    private static function export(ExportableItems $list, array $args): array
    {
        $to = isset($args['file']) ? fopen($args['file'], $args['mode'] ?? 'wb') : null;
        memory_reset_peak_usage();
        $list->csv($to);
        return ['peakBytes' => memory_get_peak_usage()];
    }
}

$bridge = new Bridge(json_decode((string) fgets(STDIN), true));
while (($line = fgets(STDIN)) !== false) {
    echo $bridge->say(json_decode($line, true)), "\n";
}
