"""The client: all calls of the API."""

from types import TracebackType
from typing import Optional

from .account import OwnAccount
from .clock import Clock, SystemClock
from .domains import Domains
from .events import Events
from .hosting import Hosting
from .orders import Orders
from .renewals import Renewals
from .signatures import Signatures
from .transport import OnRetry, Options, Transport
from .webhooks import Webhooks
from .zones import Zones

VERSION = "0.1.0"


class Client:
    """All calls of the API by collection, for one service and key.

    Every call raises ``ApiError`` with a code, ``NoAnswerError`` when no answer came,
    or ``ValueError`` when an argument is malformed. In addition to the codes that a call
    names, every call can get those of any request, such as ``rate_limit_exceeded``.

    Each write has an ``Idempotency-Key``. Give your own ``idempotency_key`` to be safe
    across restarts of your program: a repeat with the same key and data within seven
    days is the same write, and gets the same answer.

    Threads can share a client; each has a separate connection.
    """

    def __init__(
        self,
        url: str,
        api_key: str,
        api_secret: str,
        *,
        timeout_seconds: float = 30,
        retries_max: int = 4,
        ca_file: Optional[str] = None,
        user_agent: Optional[str] = None,
        on_retry: Optional[OnRetry] = None,
        clock: Optional[Clock] = None,
    ) -> None:
        """Make a client; raise ``ValueError`` when the URL or the key is malformed.

        ``url`` is the API's, with or without a version: ``https://api.example.com/v1``.
        The secret is used for signing, and never sent. ``timeout_seconds`` is for one
        attempt; for a status that the service holds, the holding time is added.
        ``retries_max`` counts attempts after the first. ``ca_file`` replaces the
        system's certificate authorities; certificates are always checked.
        ``user_agent`` names your program. ``on_retry`` is called before each retry.
        """
        own = f"deedhouse-python/{VERSION}"
        self._transport = Transport(
            Options(
                url=url,
                api_key=api_key,
                api_secret=api_secret,
                timeout_seconds=timeout_seconds,
                retries_max=retries_max,
                ca_file=ca_file,
                user_agent=f"{user_agent} {own}" if user_agent else own,
                on_retry=on_retry,
                clock=clock or SystemClock(),
            )
        )
        self.account = OwnAccount(self._transport)
        self.domains = Domains(self._transport)
        self.events = Events(self._transport)
        self.hosting = Hosting(self._transport)
        self.orders = Orders(self._transport)
        self.renewals = Renewals(self._transport)
        self.signatures = Signatures(self._transport)
        self.webhooks = Webhooks(self._transport)
        self.zones = Zones(self._transport)

    def close(self) -> None:
        """Close the connection of this thread; the next call opens another one."""
        self._transport.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(
        self,
        error_type: Optional[type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self.close()
