<?php

declare(strict_types=1);

namespace Deedhouse;

/** A change of a zone: `Zones::getChange` says when the name servers have it. */
final class PlacedChange extends Answer
{
    /** Also the zone's version. */
    public readonly string $changeId;

    public function __construct(Reply $reply)
    {
        parent::__construct($reply);
        $this->changeId = $reply->lastOfLocation();
    }
}
