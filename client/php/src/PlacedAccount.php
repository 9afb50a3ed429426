<?php

declare(strict_types=1);

namespace Deedhouse;

/** A hosting account that was ordered: pass it to `Client::provisioned`. */
final class PlacedAccount extends Answer
{
    /** Its canonical name. */
    public readonly string $identifier;

    public function __construct(Reply $reply)
    {
        parent::__construct($reply);
        $this->identifier = $reply->lastOfLocation();
    }
}
