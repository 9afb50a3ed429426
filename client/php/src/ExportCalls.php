<?php

declare(strict_types=1);

namespace Deedhouse;

/**
 * Whole lists as CSV, written to a stream as they arrive. A list that breaks off ends in a `NoAnswerException`: what was written is then
 * not the whole list. A stream that takes no more ends it in a `\RuntimeException`. Each counts as ten requests.
 */
trait ExportCalls
{
    /**
     * The portfolio, or the part that the filters select: GET /domains as CSV.
     *
     * @param resource $to a stream that is open for writing
     * @throws ApiException bad_request
     */
    public function exportDomains($to, ?string $namePrefix = null, ?string $expiresBefore = null, ?bool $willRenew = null): void
    {
        $this->transport->csv('/domains', self::domainFilter($namePrefix, $expiresBefore, $willRenew), self::writer($to));
    }

    /**
     * Orders: GET /orders as CSV.
     *
     * @param resource $to a stream that is open for writing
     * @throws ApiException bad_request
     */
    public function exportOrders($to, ?string $domainName = null, ?string $kind = null, ?string $status = null): void
    {
        $filters = ['domain_name' => $domainName, 'kind' => $kind, 'status' => $status];
        $this->transport->csv('/orders', $filters, self::writer($to));
    }

    /**
     * Upcoming and recent renewals: GET /renewals as CSV.
     *
     * @param resource $to a stream that is open for writing
     * @throws ApiException bad_request
     */
    public function exportRenewals($to, ?string $status = null): void
    {
        $this->transport->csv('/renewals', ['status' => $status], self::writer($to));
    }

    /**
     * Names that have left the portfolio: GET /domains/departures as CSV.
     *
     * @param resource $to a stream that is open for writing
     */
    public function exportDepartures($to): void
    {
        $this->transport->csv('/domains/departures', [], self::writer($to));
    }

    /** @return \Closure(string): void */
    private static function writer(mixed $to): \Closure
    {
        if (!is_resource($to) || get_resource_type($to) !== 'stream') {
            throw new \InvalidArgumentException('a list is written to a stream, such as fopen(\'domains.csv\', \'wb\')');
        }
        // Otherwise the first write would say so, after the service has counted ten requests.
        if (strpbrk(stream_get_meta_data($to)['mode'], 'waxc+') === false) {
            throw new \InvalidArgumentException('the stream is not open for writing: open it with the mode \'wb\'');
        }
        return static function (string $part) use ($to): void {
            if (@fwrite($to, $part) !== strlen($part)) {
                throw new \RuntimeException('the list could not be written to the stream, so it is not whole');
            }
        };
    }
}
