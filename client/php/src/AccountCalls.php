<?php

declare(strict_types=1);

namespace Deedhouse;

/** Who is calling. */
trait AccountCalls
{
    /** Your account, the key that signs with its scopes, your limits, and the suffixes on offer: GET /account. */
    public function getAccount(): Answer
    {
        return $this->transport->object('/account');
    }
}
