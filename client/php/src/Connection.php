<?php

declare(strict_types=1);

namespace Deedhouse;

/**
 * Sends bytes to the service, and receives the answer's. It keeps its connection, and connects directly: proxies of the environment
 * are not used, and a redirect is not followed, because the signature covers one target.
 */
final class Connection
{
    /** A page of 100 items has about 50 kB; an answer far above that is not the service's. */
    private const RESPONSE_BYTES_MAX = 8 * 1024 * 1024;

    /** What every path begins with: `/v1`. */
    public readonly string $path;
    private readonly string $origin;
    private ?\CurlHandle $handle = null;

    /** @throws \InvalidArgumentException when the URL is malformed */
    public function __construct(string $url, private readonly ?string $caFile)
    {
        $parts = parse_url($url);
        if (!is_array($parts) || !in_array($parts['scheme'] ?? '', ['http', 'https'], true) || ($parts['host'] ?? '') === '') {
            throw new \InvalidArgumentException("the URL \"{$url}\" is not of the form https://host[:port][/path]");
        }
        if (array_intersect_key($parts, ['user' => 1, 'pass' => 1, 'query' => 1, 'fragment' => 1]) !== []) {
            throw new \InvalidArgumentException('the URL must not carry a user, a password, a query or a fragment');
        }
        $this->path = rtrim($parts['path'] ?? '', '/');
        $port = isset($parts['port']) ? ":{$parts['port']}" : '';
        $this->origin = "{$parts['scheme']}://{$parts['host']}{$port}";
    }

    /**
     * @param array<string, string> $headers
     * @param ?\Closure(string): void $receive gets a list as CSV, in parts as they arrive; then the time limits the silence between them
     * @throws NoAnswerException
     */
    public function exchange(
        string $method,
        string $target,
        array $headers,
        string $body,
        float $timeoutSeconds,
        ?\Closure $receive = null,
    ): Reply {
        $handle = $this->handle ??= curl_init();
        curl_reset($handle);
        $received = [];
        $isHeadWhole = false;
        $text = '';
        $passedBytes = 0;
        $lines = [...array_map(static fn (string $name, string $value): string => "{$name}: {$value}", array_keys($headers), $headers), 'expect:'];
        curl_setopt_array($handle, [
            CURLOPT_URL => $this->origin . $target,
            CURLOPT_CUSTOMREQUEST => $method,
            CURLOPT_HTTPHEADER => $lines,
            CURLOPT_HTTP_VERSION => CURL_HTTP_VERSION_1_1,
            CURLOPT_PROTOCOLS => CURLPROTO_HTTP | CURLPROTO_HTTPS,
            CURLOPT_PATH_AS_IS => true,
            CURLOPT_PROXY => '',
            CURLOPT_NOPROXY => '*',
            CURLOPT_NOSIGNAL => true,
            CURLOPT_HEADERFUNCTION => static function ($_, string $line) use (&$received, &$isHeadWhole): int {
                $isHeadWhole = trim($line) === '';
                [$name, $value] = [...explode(':', $line, 2), ''];
                if (trim($value) !== '') {
                    $received[strtolower(trim($name))] = trim($value);
                }
                return strlen($line);
            },
            CURLOPT_WRITEFUNCTION => static function ($handle, string $part) use (&$received, &$text, &$passedBytes, $receive): int {
                $isWanted = intdiv(curl_getinfo($handle, CURLINFO_RESPONSE_CODE), 100) === 2 && Reply::isCsv($received);
                if ($receive !== null && $isWanted) {
                    $receive($part);
                    $passedBytes += strlen($part);
                    return strlen($part);
                }
                $text .= $part;
                return strlen($text) > self::RESPONSE_BYTES_MAX ? 0 : strlen($part);
            },
        ]);
        curl_setopt_array($handle, self::timeLimits($timeoutSeconds, isStream: $receive !== null));
        if ($body !== '') {
            curl_setopt($handle, CURLOPT_POSTFIELDS, $body);
        }
        if ($this->caFile !== null) {
            curl_setopt($handle, CURLOPT_CAINFO, $this->caFile);
        }
        try {
            $isWhole = curl_exec($handle);
        } catch (\Throwable $error) {
            // The receiver's.
            $this->close();
            throw $error;
        }
        if ($isWhole === false) {
            $error = $this->noAnswer($handle, strlen($text), $timeoutSeconds);
            throw $passedBytes === 0 ? $error : new NoAnswerException("the list broke off, so it is not whole: {$error->getMessage()}", true);
        }
        // For curl, an end among the header lines is the end of the answer.
        if (!$isHeadWhole) {
            $this->close();
            throw new NoAnswerException("no answer from {$this->origin}: the connection ended in the answer's head");
        }
        return new Reply(curl_getinfo($handle, CURLINFO_RESPONSE_CODE), $received, $text);
    }

    /** Closes the connection; the next call opens another one. */
    public function close(): void
    {
        $this->handle = null;
    }

    /** @return array<int, int> */
    private static function timeLimits(float $seconds, bool $isStream): array
    {
        if (!$isStream) {
            return [CURLOPT_TIMEOUT_MS => (int) ceil($seconds * 1_000)];
        }
        return [
            CURLOPT_CONNECTTIMEOUT_MS => (int) ceil($seconds * 1_000),
            CURLOPT_LOW_SPEED_LIMIT => 1,
            CURLOPT_LOW_SPEED_TIME => (int) ceil($seconds),
        ];
    }

    private function noAnswer(\CurlHandle $handle, int $bytes, float $timeoutSeconds): NoAnswerException
    {
        $begin = "no answer from {$this->origin}";
        $said = curl_error($handle);
        return match (true) {
            curl_errno($handle) === CURLE_OPERATION_TIMEDOUT => new NoAnswerException("{$begin} within {$timeoutSeconds} s"),
            curl_errno($handle) === 60 => new NoAnswerException(
                "{$begin}: its certificate is not trusted ({$said}); for a private authority, give its certificate as caFile",
                isPermanent: true,
            ),
            $bytes > self::RESPONSE_BYTES_MAX => new NoAnswerException(
                "{$begin}: the answer is longer than " . self::RESPONSE_BYTES_MAX . ' bytes',
            ),
            default => new NoAnswerException("{$begin}: {$said}"),
        };
    }
}
