<?php

declare(strict_types=1);

namespace Deedhouse;

/** Events, the oldest first, in `data`. */
final class EventPage extends Answer
{
    /** For `after` of the next call. It leads on even if there were no events. */
    public readonly string $next;

    public function __construct(Reply $reply)
    {
        parent::__construct($reply, $reply->list());
        parse_str($reply->nextQuery() ?? '', $query);
        $after = $query['after'] ?? null;
        $this->next = is_string($after) ? $after : throw $reply->unexpected('a link to the next events');
    }
}
