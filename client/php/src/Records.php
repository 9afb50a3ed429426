<?php

declare(strict_types=1);

namespace Deedhouse;

/**
 * The records of a zone, in sets of one name and type. A `subname` is relative to the domain name; `@` is the name itself. With
 * `ifChangeId`, a call writes only if that change is the newest, and otherwise throws `zone_changed`.
 */
final class Records extends Resource
{
    /**
     * The sets of a zone, by name and type: GET /domains/<domain_name>/records.
     *
     * @throws ApiException domain_not_found, domain_not_valid, zone_not_found
     */
    public function list(string $domainName, ?string $type = null, ?string $subname = null): Items
    {
        $filter = ['type' => $type, 'subname' => $subname];
        return new Items($this->transport, Transport::path('domains', $domainName, 'records'), $filter);
    }

    /**
     * One set: GET /domains/<domain_name>/records/<subname>/<record_type>.
     *
     * @throws ApiException domain_not_found, domain_not_valid, record_not_found, zone_not_found
     */
    public function get(string $domainName, string $subname, string $type): Answer
    {
        return $this->read(Transport::path('domains', $domainName, 'records', $subname, $type));
    }

    /**
     * Sets the records of one name and type: PUT /domains/<domain_name>/records/<subname>/<record_type>.
     *
     * @param array<string, mixed> $set subname, type, ttl, records
     * @throws ApiException bad_request, domain_not_found, domain_not_valid, zone_changed, zone_leaving, zone_not_found
     */
    public function set(string $domainName, array $set, ?string $ifChangeId = null, ?string $idempotencyKey = null): PlacedChange
    {
        $path = Transport::path('domains', $domainName, 'records', $set['subname'] ?? '', $set['type'] ?? '');
        $body = ['ttl' => $set['ttl'] ?? null, 'records' => $set['records'] ?? []];
        return $this->place('PUT', $path, $ifChangeId, $idempotencyKey, body: $body);
    }

    /**
     * Removes the records of one name and type: DELETE /domains/<domain_name>/records/<subname>/<record_type>.
     *
     * @throws ApiException domain_not_found, domain_not_valid, record_managed, record_not_found, zone_changed, zone_leaving, zone_not_found
     */
    public function remove(
        string $domainName,
        string $subname,
        string $type,
        ?string $ifChangeId = null,
        ?string $idempotencyKey = null,
    ): PlacedChange {
        $path = Transport::path('domains', $domainName, 'records', $subname, $type);
        return $this->place('DELETE', $path, $ifChangeId, $idempotencyKey);
    }

    /**
     * Changes several sets at once, all or nothing: PATCH /domains/<domain_name>/records. Those without records are removed.
     *
     * @param list<array<string, mixed>> $sets subname, type, ttl, records
     * @throws ApiException bad_request, domain_not_found, domain_not_valid, zone_changed, zone_leaving, zone_not_found
     */
    public function change(string $domainName, array $sets, ?string $ifChangeId = null, ?string $idempotencyKey = null): PlacedChange
    {
        $path = Transport::path('domains', $domainName, 'records');
        return $this->place('PATCH', $path, $ifChangeId, $idempotencyKey, body: $sets);
    }

    /**
     * Replaces all records: PUT /domains/<domain_name>/records. Those that are not given are removed.
     *
     * @param list<array<string, mixed>> $sets subname, type, ttl, records
     * @throws ApiException bad_request, domain_not_found, domain_not_valid, zone_changed, zone_leaving, zone_not_found
     */
    public function replace(string $domainName, array $sets, ?string $ifChangeId = null, ?string $idempotencyKey = null): PlacedChange
    {
        $path = Transport::path('domains', $domainName, 'records');
        return $this->place('PUT', $path, $ifChangeId, $idempotencyKey, body: $sets);
    }

    /**
     * Replaces all records by those of a zone file (RFC 1035): PUT /domains/<domain_name>/records.
     *
     * @throws ApiException bad_request, domain_not_found, domain_not_valid, zone_changed, zone_leaving, zone_not_found
     */
    public function importFile(
        string $domainName,
        string $zoneFile,
        ?string $ifChangeId = null,
        ?string $idempotencyKey = null,
    ): PlacedChange {
        $path = Transport::path('domains', $domainName, 'records');
        return $this->place('PUT', $path, $ifChangeId, $idempotencyKey, zoneFile: $zoneFile);
    }

    /**
     * The whole zone as a zone file: GET /domains/<domain_name>/records.
     *
     * @throws ApiException domain_not_found, domain_not_valid, zone_not_found
     */
    public function exportFile(string $domainName): string
    {
        return $this->transport->send('GET', Transport::path('domains', $domainName, 'records'), zoneFile: '')->text;
    }

    /** @param ?array<mixed> $body */
    private function place(
        string $method,
        string $path,
        ?string $ifChangeId,
        ?string $idempotencyKey,
        ?array $body = null,
        ?string $zoneFile = null,
    ): PlacedChange {
        $ifMatch = $ifChangeId === null ? null : "\"{$ifChangeId}\"";
        $options = ['body' => $body, 'idempotencyKey' => $idempotencyKey, 'zoneFile' => $zoneFile, 'ifMatch' => $ifMatch];
        return new PlacedChange($this->transport->send($method, $path, ...$options));
    }
}
