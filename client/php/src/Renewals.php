<?php

declare(strict_types=1);

namespace Deedhouse;

/** The ends of terms. `domains->renew` renews a name now, `domains->setWillRenew` decides about its next end. */
final class Renewals extends Resource
{
    /**
     * Upcoming and recent renewals, by the end of the term: GET /renewals.
     *
     * @throws ApiException bad_request
     */
    public function list(?string $status = null): ExportableItems
    {
        return new ExportableItems($this->transport, '/renewals', ['status' => $status]);
    }
}
