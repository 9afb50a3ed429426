<?php

declare(strict_types=1);

namespace Deedhouse;

/** One page of a list; `data` has its items. */
final class Page extends Answer
{
    /** How many items are before it. */
    public readonly ?int $skipped;
    /** As applied by the service: more than 100 is returned as 100. */
    public readonly ?int $take;
    /** The number of items on all pages. */
    public readonly ?int $total;
    /** The query of the next page; null on the last one. */
    public readonly ?string $nextQuery;

    public function __construct(Reply $reply)
    {
        parent::__construct($reply, $reply->list());
        $this->skipped = $reply->number('x-paging-skipped');
        $this->take = $reply->number('x-paging-take');
        $this->total = $reply->number('x-paging-totalresults');
        $this->nextQuery = $reply->nextQuery();
    }
}
