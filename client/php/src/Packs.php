<?php

declare(strict_types=1);

namespace Deedhouse;

/** Service packs. */
final class Packs extends Resource
{
    /** Those that are offered to you: GET /servicepacks. */
    public function list(): Items
    {
        return new Items($this->transport, '/servicepacks', isWhole: true);
    }
}
