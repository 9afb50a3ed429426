<?php

declare(strict_types=1);

namespace Deedhouse;

/** The zones of domain names: what our name servers answer about them. */
final class Zones extends Resource
{
    public readonly Records $records;

    public function __construct(Transport $transport)
    {
        parent::__construct($transport);
        $this->records = new Records($transport);
    }

    /**
     * A zone: its state, and what each name server has: GET /domains/<domain_name>/dns.
     *
     * @throws ApiException domain_not_found, domain_not_valid, zone_not_found
     */
    public function get(string $domainName): Answer
    {
        return $this->read(Transport::path('domains', $domainName, 'dns'));
    }

    /**
     * Makes a zone for a name: PUT /domains/<domain_name>/dns.
     *
     * @param ?list<array<string, mixed>> $sets its first records: subname, type, ttl, records
     * @param ?bool $delegate orders our name servers for the name, once they serve the zone
     * @throws ApiException bad_request, dns_not_offered, domain_has_ds, domain_not_found, domain_not_valid, zone_changed, zone_exists,
     *     zone_leaving, zone_not_found
     */
    public function create(
        string $domainName,
        ?array $sets = null,
        ?bool $delegate = null,
        ?string $idempotencyKey = null,
    ): PlacedChange {
        return $this->put($domainName, ['sets' => $sets, 'delegate' => $delegate], $idempotencyKey);
    }

    /**
     * Orders our name servers for a name that has a zone, once they serve it: PUT /domains/<domain_name>/dns.
     *
     * @throws ApiException dns_not_offered, domain_has_ds, domain_not_found, domain_not_valid, zone_leaving
     */
    public function delegate(string $domainName, ?string $idempotencyKey = null): PlacedChange
    {
        return $this->put($domainName, ['delegate' => true], $idempotencyKey);
    }

    /**
     * Brings back the zone that was deleted in the last 30 days: PUT /domains/<domain_name>/dns.
     *
     * @throws ApiException dns_not_offered, domain_not_found, domain_not_valid, zone_exists, zone_not_found
     */
    public function restore(string $domainName, ?string $idempotencyKey = null): PlacedChange
    {
        return $this->put($domainName, ['restore' => true], $idempotencyKey);
    }

    /**
     * Deletes a zone with all records: DELETE /domains/<domain_name>/dns.
     *
     * @param bool $isForced also while the registry shows our name servers
     * @throws ApiException bad_request, domain_not_found, domain_not_valid, zone_changed, zone_delegated, zone_leaving, zone_not_found
     */
    public function delete(string $domainName, bool $isForced = false, ?string $idempotencyKey = null): Answer
    {
        $query = $this->transport->query(['confirm' => $domainName, 'force' => $isForced ? true : null]);
        $path = Transport::path('domains', $domainName, 'dns');
        return new Answer($this->transport->send('DELETE', $path, $query, idempotencyKey: $idempotencyKey));
    }

    /**
     * The changes of a zone, the newest first: GET /domains/<domain_name>/dns/changes.
     *
     * @throws ApiException domain_not_found, domain_not_valid, zone_not_found
     */
    public function changes(string $domainName): Items
    {
        return new Items($this->transport, Transport::path('domains', $domainName, 'dns', 'changes'));
    }

    /**
     * A change of a zone: GET /domains/<domain_name>/dns/changes/<change_id>. The service holds the answer until the name servers have
     * it, at most `waitSeconds`.
     *
     * @throws ApiException domain_not_found, domain_not_valid, zone_change_not_found, zone_not_found
     */
    public function getChange(string $domainName, string $changeId, ?int $waitSeconds = null): Answer
    {
        return $this->read(Transport::path('domains', $domainName, 'dns', 'changes', $changeId), $waitSeconds);
    }

    /** @param array<string, mixed> $body */
    private function put(string $domainName, array $body, ?string $idempotencyKey): PlacedChange
    {
        $path = Transport::path('domains', $domainName, 'dns');
        return new PlacedChange($this->transport->send('PUT', $path, body: $body, idempotencyKey: $idempotencyKey));
    }
}
