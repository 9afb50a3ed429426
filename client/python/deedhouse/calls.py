"""What the groups of calls share."""

from collections.abc import Iterator, Mapping
from typing import Any, Optional

from .answers import (
    Answer,
    Page,
    PlacedOrder,
    empty_answer,
    list_answer,
    object_answer,
    page,
    placed_order,
)
from .transport import Query, Transport, query_of

# The maximum page size of the service.
_TAKE_MAX = 100


class Calls:
    """A group of calls of the API."""

    _transport: Transport

    def _object(self, path: str, wait_seconds: Optional[int] = None) -> Answer[Any]:
        return object_answer(
            self._transport.send("GET", path, wait_seconds=wait_seconds)
        )

    def _list(self, path: str, query: Query) -> Answer[list[Any]]:
        return list_answer(self._transport.send("GET", path, query=query_of(query)))

    def _page(self, path: str, query: Query) -> Page[Any]:
        return page(self._transport.send("GET", path, query=query_of(query)))

    def _all(self, path: str, filters: Query) -> Iterator[Any]:
        """Yield every item of a list, fetched page by page as items are consumed."""
        query: Optional[str] = query_of({**filters, "take": _TAKE_MAX})
        while query is not None:
            found = page(self._transport.send("GET", path, query=query))
            yield from found.data
            query = found.next_query

    def _csv(self, path: str, filters: Query) -> Iterator[bytes]:
        """Yield a whole list as CSV, in parts as they arrive."""
        yield from self._transport.csv(path, query_of(filters))

    def _write(
        self,
        method: str,
        path: str,
        idempotency_key: Optional[str],
        body: Optional[Mapping[str, Any]] = None,
    ) -> Answer[None]:
        return empty_answer(
            self._transport.send(
                method, path, body=body, idempotency_key=idempotency_key
            )
        )

    def _order(
        self,
        method: str,
        path: str,
        idempotency_key: Optional[str],
        body: Optional[Mapping[str, Any]] = None,
        query: str = "",
    ) -> PlacedOrder:
        return placed_order(
            self._transport.send(
                method, path, query=query, body=body, idempotency_key=idempotency_key
            )
        )
