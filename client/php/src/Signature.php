<?php

declare(strict_types=1);

namespace Deedhouse;

/** The signature of requests: `Authorization: hmac key:signature:nonce:timestamp`. */
final class Signature
{
    private const RANDOM_BYTES = 16;

    /**
     * @param string $apiSecret as issued: its characters are the HMAC key, never decoded from hex
     * @param string $target path and query exactly as sent, with the version: `/v1/domains?take=10`
     * @param string $body the raw bytes; empty for a request without a body
     * @param string $nonce use it once; see `newNonce`
     * @param int $timestamp unix seconds
     */
    public function __construct(
        private readonly string $apiKey,
        private readonly string $apiSecret,
        private readonly string $method,
        private readonly string $target,
        private readonly string $body,
        private readonly string $nonce,
        private readonly int $timestamp,
    ) {
    }

    /** The text that is signed. The target is encoded once more as one text, so `/` becomes `%2F`. */
    public function stringToSign(): string
    {
        // The scheme demands MD5; it only binds the body to the HMAC-SHA256 signature.
        $digest = $this->body === '' ? '' : base64_encode(md5($this->body, true));
        $target = rawurlencode($this->target);
        return $this->apiKey . strtolower($this->method) . $target . $this->timestamp . $this->nonce . $digest;
    }

    /** The value of the `Authorization` header. */
    public function authorization(): string
    {
        $signature = base64_encode(hash_hmac('sha256', $this->stringToSign(), $this->apiSecret, true));
        return "hmac {$this->apiKey}:{$signature}:{$this->nonce}:{$this->timestamp}";
    }

    /** A new nonce: 32 random hex digits. */
    public static function newNonce(): string
    {
        return bin2hex(random_bytes(self::RANDOM_BYTES));
    }

    /** A value for `Idempotency-Key`. A repeat with the same key is the same order, never a second one. */
    public static function newIdempotencyKey(): string
    {
        return bin2hex(random_bytes(self::RANDOM_BYTES));
    }
}
