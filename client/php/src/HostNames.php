<?php

declare(strict_types=1);

namespace Deedhouse;

/** Host names of an account's site, in addition to the platform's own. */
final class HostNames extends Resource
{
    /**
     * All host names of an account: GET /hostingaccounts/<identifier>/hosts.
     *
     * @throws ApiException hostingaccount_invalid_identifier
     */
    public function list(string $identifier): Items
    {
        return new Items($this->transport, Transport::path('hostingaccounts', $identifier, 'hosts'), isWhole: true);
    }

    /**
     * A host name, with the record to set and its status: GET /hostingaccounts/<identifier>/hosts/<host_name>.
     *
     * @throws ApiException host_name_not_found, hostingaccount_invalid_identifier
     */
    public function get(string $identifier, string $hostName): Answer
    {
        return $this->read(Transport::path('hostingaccounts', $identifier, 'hosts', $hostName));
    }

    /**
     * Adds a host name, or checks it again at once: PUT /hostingaccounts/<identifier>/hosts/<host_name>.
     *
     * @throws ApiException bad_request, host_name_not_available, hostingaccount_invalid_identifier
     */
    public function add(string $identifier, string $hostName, ?string $idempotencyKey = null): Answer
    {
        return $this->write('PUT', Transport::path('hostingaccounts', $identifier, 'hosts', $hostName), $idempotencyKey);
    }

    /**
     * Removes a host name: DELETE /hostingaccounts/<identifier>/hosts/<host_name>. The site stops answering there within seconds.
     *
     * @throws ApiException host_name_not_found, hostingaccount_invalid_identifier
     */
    public function remove(string $identifier, string $hostName, ?string $idempotencyKey = null): Answer
    {
        return $this->write('DELETE', Transport::path('hostingaccounts', $identifier, 'hosts', $hostName), $idempotencyKey);
    }
}
