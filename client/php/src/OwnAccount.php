<?php

declare(strict_types=1);

namespace Deedhouse;

/** Who is calling. */
final class OwnAccount extends Resource
{
    /** Your account, the key that signs with its scopes, your limits, and the suffixes on offer: GET /account. */
    public function get(): Answer
    {
        return $this->read('/account');
    }
}
