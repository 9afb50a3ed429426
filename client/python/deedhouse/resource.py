"""What the collections of the API share."""

from collections.abc import Mapping
from typing import Any, Optional

from .answers import Answer, PlacedOrder, empty_answer, object_answer, placed_order
from .transport import Transport


class Resource:
    """The calls about one collection of the API."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def _read(self, path: str, wait_seconds: Optional[int] = None) -> Answer[Any]:
        return object_answer(
            self._transport.send("GET", path, wait_seconds=wait_seconds)
        )

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
