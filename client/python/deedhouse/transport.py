"""Sends calls: signed, and with retries."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Callable, Optional, TypeVar, Union
from urllib.parse import quote, urlencode

from .answers import api_error, unexpected
from .clock import Clock
from .connection import Connections, Reply, parse_base_url
from .errors import ApiError, NoAnswerError
from .retry import Failure, RetryNotice, plan_retry
from .signing import SignInput, authorization_header, new_idempotency_key, new_nonce

_Result = TypeVar("_Result")
OnRetry = Callable[[RetryNotice], None]
Query = Mapping[str, Union[str, int, bool, None]]
#: Sent as JSON; fields that are ``None`` are left out.
Body = Union[Mapping[str, Any], list[Any]]


@dataclass(frozen=True)
class Options:
    """What all calls of a client share."""

    url: str
    api_key: str
    api_secret: str
    timeout_seconds: float
    retries_max: int
    ca_file: Optional[str]
    user_agent: str
    on_retry: Optional[OnRetry]
    clock: Clock


def path_of(*segments: str) -> str:
    """Return the path of a resource, with its segments encoded."""
    for segment in segments:
        # These would silently become another resource.
        if segment in ("", ".", ".."):
            raise ValueError(f'"{segment}" is not a name')
    return "".join(f"/{quote(segment, safe='')}" for segment in segments)


def query_of(values: Query) -> str:
    """Return a query without the values that are ``None``."""
    given = {
        name: str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in values.items()
        if value is not None
    }
    return urlencode(given)


class Transport:
    """Sends the calls of one client."""

    def __init__(self, options: Options) -> None:
        if not re.fullmatch(r"[0-9a-f]{32}", options.api_key):
            raise ValueError("an API key is 32 lower-case hex digits")
        if not options.api_secret:
            raise ValueError("the API secret is empty")
        if not re.fullmatch(r"[\x21-\x7e]+( [\x21-\x7e]+)*", options.user_agent):
            raise ValueError("a user agent has printable ASCII characters")
        self.clock = options.clock
        self._options = options
        self._url = parse_base_url(options.url)
        self._connections = Connections(self._url, options.ca_file, options.clock)

    def send(
        self,
        method: str,
        path: str,
        *,
        query: str = "",
        body: Optional[Body] = None,
        zone_file: Optional[str] = None,
        if_match: Optional[str] = None,
        idempotency_key: Optional[str] = None,
        wait_seconds: Optional[int] = None,
    ) -> Reply:
        """Send a call, and return a 2xx; raise ``ApiError`` or ``NoAnswerError``.

        ``zone_file`` is sent in place of a body; an empty one asks for a zone file.
        ``if_match`` is the etag of the version over which the call may write.
        ``wait_seconds`` is how long the service may hold the answer.
        """
        target = self._target(path, query)
        content = _json_bytes(body) if zone_file is None else zone_file.encode()
        headers = self._headers(method, bool(content), idempotency_key, wait_seconds)
        if zone_file is not None:
            headers["content-type" if zone_file else "accept"] = "text/dns"
        if if_match is not None:
            headers["if-match"] = if_match
        timeout_seconds = self._options.timeout_seconds + (wait_seconds or 0)

        def attempt() -> Reply:
            return _successful(
                self._connections.exchange(
                    method, target, headers, content, timeout_seconds
                )
            )

        return self._with_retries(method, target, headers, content, attempt)

    def csv(self, path: str, query: str) -> Iterator[bytes]:
        """Open a whole list as CSV; raise ``ApiError`` or ``NoAnswerError``.

        Its parts are bytes as they arrive.
        """
        target = self._target(path, query)
        headers = {**self._headers("GET", False, None, None), "accept": "text/csv"}

        def attempt() -> Iterator[bytes]:
            found = self._connections.stream(
                target, headers, self._options.timeout_seconds
            )
            if isinstance(found, Reply):
                raise unexpected(_successful(found), "CSV")
            return found

        return self._with_retries("GET", target, headers, b"", attempt)

    def _with_retries(
        self,
        method: str,
        target: str,
        headers: dict[str, str],
        content: bytes,
        attempt: Callable[[], _Result],
    ) -> _Result:
        """Sign, and make attempts; ``headers`` gets the signature."""
        headers["authorization"] = self._sign(method, target, content)
        previous: Optional[Failure] = None
        retries_done = 0
        while True:
            try:
                return attempt()
            except (ApiError, NoAnswerError) as error:
                if retries_done >= self._options.retries_max:
                    raise
                plan = plan_retry(error, previous, retries_done)
                if plan is None:
                    raise
                previous = error
            retries_done += 1
            if self._options.on_retry:
                notice = RetryNotice(
                    plan.delay_seconds, plan.is_signed_again, previous, retries_done
                )
                self._options.on_retry(notice)
            self.clock.sleep(plan.delay_seconds)
            if plan.is_signed_again:
                headers["authorization"] = self._sign(method, target, content)

    def _target(self, path: str, query: str) -> str:
        return self._url.path + path + (f"?{query}" if query else "")

    def close(self) -> None:
        """Close the connection of this thread."""
        self._connections.close()

    def _headers(
        self,
        method: str,
        has_body: bool,
        idempotency_key: Optional[str],
        wait_seconds: Optional[int],
    ) -> dict[str, str]:
        headers = {"accept": "application/json", "user-agent": self._options.user_agent}
        if has_body:
            headers["content-type"] = "application/json"
        if method != "GET":
            key = new_idempotency_key() if idempotency_key is None else idempotency_key
            if not re.fullmatch(r"[\x21-\x7e]{1,255}", key):
                raise ValueError(
                    "an idempotency key has 1 to 255 printable ASCII characters "
                    "without spaces"
                )
            headers["idempotency-key"] = key
        if wait_seconds:
            headers["prefer"] = f"wait={wait_seconds}"
        return headers

    def _sign(self, method: str, target: str, body: bytes) -> str:
        return authorization_header(
            SignInput(
                api_key=self._options.api_key,
                api_secret=self._options.api_secret,
                method=method,
                target=target,
                body=body,
                nonce=new_nonce(),
                timestamp=int(self.clock.now()),
            )
        )


def _successful(reply: Reply) -> Reply:
    if not 200 <= reply.status <= 299:
        raise api_error(reply)
    return reply


def _json_bytes(body: Optional[Body]) -> bytes:
    if body is None:
        return b""
    given: Any = body
    if isinstance(body, Mapping):
        given = {name: value for name, value in body.items() if value is not None}
    return json.dumps(given, ensure_ascii=False, separators=(",", ":")).encode()
