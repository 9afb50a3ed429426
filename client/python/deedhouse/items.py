"""Lists."""

from collections.abc import Iterator
from typing import Generic, Optional, TypeVar

from .answers import Page, page
from .transport import Query, Transport, query_of

# The maximum page size of the service.
_TAKE_MAX = 100

T = TypeVar("T")


class Items(Generic[T]):
    """A list, which sends nothing before it is read.

    An iteration gives every item, and fetches a page when its items are needed. It
    neither skips nor repeats an item, even when the list changes meanwhile.
    """

    def __init__(
        self,
        transport: Transport,
        path: str,
        filters: Optional[Query] = None,
        *,
        is_whole: bool = False,
    ) -> None:
        """Name the list; one that ``is_whole`` has no pages."""
        self._transport = transport
        self._path = path
        self._filters = filters or {}
        self._is_whole = is_whole

    def page(
        self, *, skip: Optional[int] = None, take: Optional[int] = None
    ) -> Page[T]:
        """Return one page, by default the first 25 items.

        Errors: those of its list, invalid_paging_request
        """
        return self._read(query_of({**self._filters, "skip": skip, "take": take}))

    def __iter__(self) -> Iterator[T]:
        take = None if self._is_whole else _TAKE_MAX
        query: Optional[str] = query_of({**self._filters, "take": take})
        while query is not None:
            found = self._read(query)
            yield from found.data
            query = found.next_query

    def _read(self, query: str) -> Page[T]:
        return page(self._transport.send("GET", self._path, query=query))


class ExportableItems(Items[T]):
    """A list that the service offers as CSV, too."""

    def csv(self) -> Iterator[bytes]:
        """Yield the whole list as CSV, in parts as they arrive.

        A part may end within a line. A list that breaks off raises ``NoAnswerError``,
        so what has come is the whole list only at the end of the iteration. It counts
        as ten requests.

        Errors: those of its list
        """
        yield from self._transport.csv(self._path, query_of(self._filters))
