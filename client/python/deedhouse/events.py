"""What has happened, and what the service makes of a signature."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Optional

from .answers import Answer, EventPage, event_page, object_answer
from .calls import Calls
from .records import Event
from .transport import query_of

# The longest time for which the service holds an answer (Prefer: wait=N).
_HOLD_SECONDS_MAX = 30


class EventCalls(Calls):
    """The calls about what has happened."""

    def list_events(
        self,
        *,
        after: Optional[str] = None,
        types: Optional[Sequence[str]] = None,
        take: Optional[int] = None,
        wait_seconds: Optional[int] = None,
    ) -> EventPage:
        """Return the next events, the oldest first.

        ``after`` is the id of an event, or the ``next`` of a page; without it, the list
        begins with the oldest event that is kept, 90 days back. ``types`` are types, or
        families such as ``domain.*``.

        Route: GET /events
        Errors: bad_request, events_expired
        """
        query = query_of(
            {"after": after, "types": ",".join(types) if types else None, "take": take}
        )
        return event_page(
            self._transport.send(
                "GET", "/events", query=query, wait_seconds=wait_seconds
            )
        )

    def follow_events(
        self, *, after: Optional[str] = None, types: Optional[Sequence[str]] = None
    ) -> Iterator[Event]:
        """Yield every event, as it happens; it ends only by an error.

        Store the id of each event that you have handled, and give it as ``after`` when
        your program starts again.

        Route: GET /events
        Errors: bad_request, events_expired
        """
        while True:
            found = self.list_events(
                after=after, types=types, wait_seconds=_HOLD_SECONDS_MAX
            )
            yield from found.data
            after = found.next

    def check_signature(
        self,
        method: str,
        target: str,
        headers: Mapping[str, str],
        body: Optional[str] = None,
    ) -> Answer[Any]:
        """Show what the service builds from a request, and whether your key signed it.

        Route: POST /signature-check
        Errors: bad_request
        """
        return object_answer(
            self._transport.send(
                "POST",
                "/signature-check",
                body={
                    "method": method,
                    "target": target,
                    "headers": dict(headers),
                    "body": body,
                },
            )
        )
