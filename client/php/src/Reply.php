<?php

declare(strict_types=1);

namespace Deedhouse;

/** A complete answer as received. */
final class Reply
{
    /**
     * @param array<string, string> $headers by name in lower case
     * @param string $text empty on 202
     */
    public function __construct(
        public readonly int $status,
        public readonly array $headers,
        public readonly string $text,
    ) {
    }

    public function header(string $name): ?string
    {
        return $this->headers[$name] ?? null;
    }

    /** @param array<string, string> $headers by name in lower case */
    public static function isCsv(array $headers): bool
    {
        return str_starts_with(strtolower($headers['content-type'] ?? ''), 'text/csv');
    }

    /** A header that is a whole number. */
    public function number(string $name): ?int
    {
        $text = $this->headers[$name] ?? '';
        return preg_match('/^[0-9]{1,9}$/D', $text) === 1 ? (int) $text : null;
    }

    /**
     * The JSON object of the body.
     *
     * @return array<string, mixed>
     * @throws ApiException when there is none
     */
    public function object(): array
    {
        $value = $this->json();
        return is_array($value) && str_starts_with(ltrim($this->text), '{') ? $value : throw $this->unexpected('a JSON object');
    }

    /**
     * The JSON array of the body.
     *
     * @return list<mixed>
     * @throws ApiException when there is none
     */
    public function list(): array
    {
        $value = $this->json();
        return is_array($value) && str_starts_with(ltrim($this->text), '[') ? $value : throw $this->unexpected('a JSON array');
    }

    /** The last segment of `location`. @throws ApiException when there is none */
    public function lastOfLocation(): string
    {
        $location = $this->headers['location'] ?? '';
        $segment = substr($location, (int) strrpos("/{$location}", '/'));
        return $segment === '' ? throw $this->unexpected('a location header') : rawurldecode($segment);
    }

    /**
     * The query of the `rel="next"` target (RFC 8288). Only the query is used: the path is known, a proxy may have changed it, and a
     * signature must never go to another host.
     */
    public function nextQuery(): ?string
    {
        preg_match_all('/<([^>]*)>([^<]*)/', $this->headers['link'] ?? '', $links, PREG_SET_ORDER);
        foreach ($links as [, $target, $parameters]) {
            preg_match('/;\s*rel\s*=\s*(?:"([^"]*)"|([^\s;,]+))/i', $parameters, $rel);
            $relations = preg_split('/\s+/', strtolower(($rel[1] ?? '') ?: ($rel[2] ?? '')));
            $query = strstr($target, '?');
            if (in_array('next', $relations, true) && $query !== false) {
                return substr($query, 1);
            }
        }
        return null;
    }

    /** The error that a status outside 200 to 299 means. */
    public function error(): ApiException
    {
        $value = $this->json();
        $body = is_array($value) ? $value : [];
        $code = $body['error_code'] ?? null;
        $isOurs = is_string($code);
        $fields = is_array($body['validation_errors'] ?? null) ? $body['validation_errors'] : [];
        return new ApiException(
            status: $this->status,
            errorCode: $isOurs ? $code : ApiException::UNEXPECTED_RESPONSE,
            errorText: $isOurs ? self::text($body, 'error_text') : "HTTP {$this->status} without an error of the service: "
                . 'another service may be answering at this address',
            errors: array_values(array_map(
                static fn (array $field): FieldError => new FieldError(
                    self::text($field, 'error_code'),
                    self::text($field, 'error_text'),
                    self::text($field, 'field'),
                ),
                array_filter($fields, 'is_array'),
            )),
            requestId: $this->header('x-request-id'),
            retryAfterSeconds: $this->number('retry-after'),
            location: $this->header('location'),
        );
    }

    /** @param string $wanted what is missing, for people */
    public function unexpected(string $wanted): ApiException
    {
        return new ApiException(
            status: $this->status,
            errorCode: ApiException::UNEXPECTED_RESPONSE,
            errorText: "the answer does not contain {$wanted}: check that the URL is the API's",
            requestId: $this->header('x-request-id'),
        );
    }

    private function json(): mixed
    {
        return json_decode($this->text, true);
    }

    /** @param array<string, mixed> $fields */
    private static function text(array $fields, string $name): string
    {
        return is_scalar($fields[$name] ?? null) ? (string) $fields[$name] : '';
    }
}
