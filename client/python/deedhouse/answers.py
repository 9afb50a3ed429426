"""What the service answered: the body as it was sent, and the contents of headers."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, Optional, TypeVar
from urllib.parse import parse_qs, unquote

from .connection import Reply
from .errors import UNEXPECTED_RESPONSE, ApiError, FieldError
from .records import Event

T = TypeVar("T")


@dataclass(frozen=True)
class RateLimit:
    """The reseller's request budget."""

    limit: int
    usage: int
    remaining: int
    #: Seconds until the full budget is available again.
    reset_seconds: int


@dataclass(frozen=True)
class Answer(Generic[T]):
    """One answer."""

    #: The API's JSON, unchanged; ``None`` for an answer without a body.
    data: T
    status: int
    request_id: Optional[str]
    #: Missing only when another service answered.
    rate_limit: Optional[RateLimit]
    #: Seconds after which to look again; missing when there is nothing to wait for.
    check_after_seconds: Optional[int]
    #: The service holds answers until something changes, so look again at once.
    is_wait_applied: bool
    #: A path, never a URL.
    location: Optional[str]


@dataclass(frozen=True)
class Page(Answer[list[T]]):
    """One page of a list."""

    #: As applied by the service: a ``take`` above 100 is returned as 100.
    skipped: Optional[int]
    take: Optional[int]
    #: The number of items on all pages.
    total: Optional[int]
    #: The query of the next page; ``None`` on the last one.
    next_query: Optional[str]


@dataclass(frozen=True)
class EventPage(Answer[list[Event]]):
    """Events, the oldest first."""

    #: For ``after`` of the next call. It leads on even if there were no events.
    next: str


@dataclass(frozen=True)
class PlacedOrder(Answer[None]):
    """A change that was ordered: pass it to ``orders.finished``."""

    order_code: str


@dataclass(frozen=True)
class PlacedAccount(Answer[None]):
    """An account that was ordered: pass it to ``hosting.provisioned``."""

    #: Its canonical name.
    identifier: str


@dataclass(frozen=True)
class PlacedChange(Answer[None]):
    """A change of a zone; ``zones.get_change`` says when the servers have it."""

    #: Also the zone's version.
    change_id: str


def empty_answer(reply: Reply) -> Answer[None]:
    """Return an answer without a body."""
    return Answer(None, **_common(reply))


def object_answer(reply: Reply) -> Answer[Any]:
    """Return an answer with a JSON object."""
    value = _parse_json(reply.text)
    if not isinstance(value, dict):
        raise unexpected(reply, "a JSON object")
    return Answer(value, **_common(reply))


def text_answer(reply: Reply) -> Answer[str]:
    """Return an answer with a text that is no JSON."""
    return Answer(reply.text, **_common(reply))


def list_answer(reply: Reply) -> Answer[Any]:
    """Return an answer with a JSON array."""
    return Answer(_array(reply), **_common(reply))


def page(reply: Reply) -> Page[Any]:
    """Return a list with its paging headers."""
    return Page(
        _array(reply),
        **_common(reply),
        skipped=_number(reply.headers, "x-paging-skipped"),
        take=_number(reply.headers, "x-paging-take"),
        total=_number(reply.headers, "x-paging-totalresults"),
        next_query=_next_query(reply.headers.get("link", "")),
    )


def event_page(reply: Reply) -> EventPage:
    """Return events, and where the link leads."""
    query = parse_qs(_next_query(reply.headers.get("link", "")) or "")
    if "after" not in query:
        raise unexpected(reply, "a link to the next events")
    return EventPage(_array(reply), **_common(reply), next=query["after"][0])


def placed_order(reply: Reply) -> PlacedOrder:
    """Return the order that ``location`` names."""
    return PlacedOrder(None, **_common(reply), order_code=_last_of_location(reply))


def placed_account(reply: Reply) -> PlacedAccount:
    """Return the account that ``location`` names."""
    return PlacedAccount(None, **_common(reply), identifier=_last_of_location(reply))


def placed_change(reply: Reply) -> PlacedChange:
    """Return the change that ``location`` names."""
    return PlacedChange(None, **_common(reply), change_id=_last_of_location(reply))


def api_error(reply: Reply) -> ApiError:
    """Return the error for a status outside 200 to 299."""
    parsed = _parse_json(reply.text)
    body: dict[str, Any] = parsed if isinstance(parsed, dict) else {}
    code = body.get("error_code")
    text = str(body.get("error_text", ""))
    if not isinstance(code, str):
        code = UNEXPECTED_RESPONSE
        text = (
            f"HTTP {reply.status} without an error of the service: "
            "another service may be answering at this address"
        )
    return ApiError(
        status=reply.status,
        error_code=code,
        error_text=text,
        errors=_field_errors(body.get("validation_errors")),
        request_id=reply.headers.get("x-request-id"),
        retry_after_seconds=_number(reply.headers, "retry-after"),
        location=reply.headers.get("location"),
    )


def _common(reply: Reply) -> dict[str, Any]:
    headers = reply.headers
    applied = headers.get("preference-applied", "")
    return {
        "status": reply.status,
        "request_id": headers.get("x-request-id"),
        "rate_limit": _rate_limit(headers),
        "check_after_seconds": _number(headers, "check-after"),
        "is_wait_applied": bool(re.search(r"(^|[,;\s])wait=", applied, re.IGNORECASE)),
        "location": headers.get("location"),
    }


def _array(reply: Reply) -> list[Any]:
    value = _parse_json(reply.text)
    if not isinstance(value, list):
        raise unexpected(reply, "a JSON array")
    return value


def unexpected(reply: Reply, wanted: str) -> ApiError:
    """Return the error for an answer without what is ``wanted``."""
    return ApiError(
        status=reply.status,
        error_code=UNEXPECTED_RESPONSE,
        error_text=(
            f"the answer does not contain {wanted}: check that the URL is the API's"
        ),
        request_id=reply.headers.get("x-request-id"),
    )


def _parse_json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _number(headers: Mapping[str, str], name: str) -> Optional[int]:
    text = headers.get(name, "")
    return int(text) if re.fullmatch(r"[0-9]{1,9}", text) else None


def _rate_limit(headers: Mapping[str, str]) -> Optional[RateLimit]:
    names = ("limit", "usage", "remaining", "reset")
    values = [_number(headers, f"x-ratelimit-{name}") for name in names]
    known = [value for value in values if value is not None]
    return RateLimit(*known) if len(known) == len(names) else None


def _field_errors(value: Any) -> tuple[FieldError, ...]:
    entries = value if isinstance(value, list) else []
    return tuple(
        FieldError(
            error_code=str(entry.get("error_code", "")),
            error_text=str(entry.get("error_text", "")),
            field=str(entry.get("field", "")),
        )
        for entry in entries
        if isinstance(entry, dict)
    )


def _last_of_location(reply: Reply) -> str:
    segment = reply.headers.get("location", "").rpartition("/")[2]
    if not segment:
        raise unexpected(reply, "a location header")
    return unquote(segment)


def _next_query(link: str) -> Optional[str]:
    """Return the query of the ``rel="next"`` target (RFC 8288).

    Only the query is used: the path is known, a proxy may have changed it, and a
    signature must never go to another host.
    """
    for target, parameters in re.findall(r"<([^>]*)>([^<]*)", link):
        rel = re.search(
            r';\s*rel\s*=\s*(?:"([^"]*)"|([^\s;,]+))', parameters, re.IGNORECASE
        )
        relations = (rel.group(1) or rel.group(2) or "").lower().split() if rel else []
        _path, mark, query = target.partition("?")
        if "next" in relations and mark:
            return str(query)
    return None
