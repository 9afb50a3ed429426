<?php

declare(strict_types=1);

namespace Deedhouse;

/** A change that was ordered: pass it to `Client::finished`. */
final class PlacedOrder extends Answer
{
    public readonly string $orderCode;

    public function __construct(Reply $reply)
    {
        parent::__construct($reply);
        $this->orderCode = $reply->lastOfLocation();
    }
}
