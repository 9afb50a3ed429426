<?php

declare(strict_types=1);

namespace Deedhouse;

/**
 * A list, which sends nothing before it is read. `foreach` gives every item, and fetches a page when its items are needed. It neither
 * skips nor repeats an item, even when the list changes meanwhile.
 *
 * @implements \IteratorAggregate<int, array<string, mixed>>
 */
class Items implements \IteratorAggregate
{
    /** The maximum page size of the service. */
    private const TAKE_MAX = 100;

    /**
     * @param array<string, string|bool|null> $filters
     * @param bool $isWhole answered as a whole: it has no pages
     */
    public function __construct(
        protected readonly Transport $transport,
        protected readonly string $path,
        protected readonly array $filters = [],
        private readonly bool $isWhole = false,
    ) {
    }

    /**
     * One page, by default the first 25 items.
     *
     * @throws ApiException those that its list names, and invalid_paging_request
     */
    public function page(?int $skip = null, ?int $take = null): Page
    {
        return $this->read($this->transport->query([...$this->filters, 'skip' => $skip, 'take' => $take]));
    }

    /** @return \Generator<int, array<string, mixed>> */
    public function getIterator(): \Generator
    {
        $query = $this->transport->query([...$this->filters, 'take' => $this->isWhole ? null : self::TAKE_MAX]);
        while ($query !== null) {
            $page = $this->read($query);
            foreach ($page->data as $item) {
                yield $item;
            }
            $query = $page->nextQuery;
        }
    }

    private function read(string $query): Page
    {
        return new Page($this->transport->send('GET', $this->path, $query));
    }
}
