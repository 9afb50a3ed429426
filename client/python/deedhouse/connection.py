"""Sends bytes to the service, and receives the answer's."""

import http.client
import io
import os
import socket
import ssl
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Optional, Union
from urllib.parse import urlsplit

from .clock import Clock
from .errors import NoAnswerError

# A page of 100 items has about 50 kB; an answer far above that is not the service's.
_RESPONSE_BYTES_MAX = 8 * 1024 * 1024
_CHUNK_BYTES = 64 * 1024
# What a connection fails with when the service has closed it while it was idle.
_CLOSED = (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError)


@dataclass(frozen=True)
class Reply:
    """A complete answer as received."""

    status: int
    #: By name in lower case.
    headers: Mapping[str, str]
    #: Empty on 202.
    text: str


@dataclass(frozen=True)
class BaseUrl:
    """The address that the operator gave."""

    is_secure: bool
    host: str
    port: Optional[int]
    #: What every path begins with: ``/v1``.
    path: str
    #: For messages.
    origin: str


class _WholeLines(io.BufferedReader):
    """Reads an answer; an end among its header lines is not the end of the header."""

    _has_begun = False

    def readline(self, size: Optional[int] = -1) -> bytes:
        line = super().readline(size)
        if self._has_begun and not line:
            raise http.client.IncompleteRead(b"")
        self._has_begun = True
        return line


class _Response(http.client.HTTPResponse):
    def __init__(self, sock: socket.socket, *args: Any, **options: Any) -> None:
        super().__init__(sock, *args, **options)
        self.fp.close()
        self.fp = _WholeLines(sock.makefile("rb", buffering=0))


# A program need not close its client, nor can it close what its ended threads had:
# a connection closes itself with the last use of it, and at the program's end.
class _PlainConnection(http.client.HTTPConnection):
    response_class = _Response

    def __del__(self) -> None:
        self.close()


class _SecureConnection(http.client.HTTPSConnection):
    response_class = _Response

    def __del__(self) -> None:
        self.close()


def parse_base_url(text: str) -> BaseUrl:
    """Read a URL with or without a path; raise ``ValueError`` if it is malformed."""
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(
            f'the URL "{text}" is not of the form https://host[:port][/path]'
        )
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise ValueError(
            "the URL must not carry a user, a password, a query or a fragment"
        )
    return BaseUrl(
        is_secure=parts.scheme == "https",
        host=parts.hostname,
        port=parts.port,
        path=parts.path.rstrip("/"),
        origin=f"{parts.scheme}://{parts.netloc}",
    )


class Connections:
    """Keeps one connection for each thread.

    It connects directly: proxies of the environment (``HTTPS_PROXY``) are not used,
    and a redirect is not followed, because the signature covers one target.
    """

    def __init__(self, url: BaseUrl, ca_file: Optional[str], clock: Clock) -> None:
        self._url = url
        self._clock = clock
        self._tls = (
            ssl.create_default_context(cafile=ca_file) if url.is_secure else None
        )
        self._own = threading.local()

    def exchange(
        self,
        method: str,
        target: str,
        headers: Mapping[str, str],
        body: bytes,
        timeout_seconds: float,
    ) -> Reply:
        """Send a request, and return its answer, or raise ``NoAnswerError``."""
        deadline = self._clock.monotonic() + timeout_seconds
        connection = self._connection(timeout_seconds)
        is_reused = connection.sock is not None
        try:
            try:
                connection.request(method, target, body or None, dict(headers))
                response = connection.getresponse()
            except _CLOSED:
                connection.close()
                if not is_reused:
                    raise
                # The identical request never counts twice.
                connection.request(method, target, body or None, dict(headers))
                response = connection.getresponse()
            return self._read(response, deadline)
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise self._no_answer(error, timeout_seconds) from error
        except BaseException:
            connection.close()
            raise

    def stream(
        self, target: str, headers: Mapping[str, str], timeout_seconds: float
    ) -> Union[Reply, Iterator[bytes]]:
        """Send a GET for CSV; return it in parts as they arrive, or the answer instead.

        It has a separate connection, so other calls can be made meanwhile. The
        timeout limits the silence between parts.
        """
        connection = self._new_connection()
        connection.timeout = timeout_seconds
        try:
            connection.request("GET", target, None, dict(headers))
            response = connection.getresponse()
            media_type = response.headers.get_content_type()
            if response.status == 200 and media_type == "text/csv":
                return self._parts(connection, response, timeout_seconds)
            deadline = self._clock.monotonic() + timeout_seconds
            reply = self._read(response, deadline)
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise self._no_answer(error, timeout_seconds) from error
        except BaseException:
            connection.close()
            raise
        connection.close()
        return reply

    def _parts(
        self,
        connection: http.client.HTTPConnection,
        response: http.client.HTTPResponse,
        timeout_seconds: float,
    ) -> Iterator[bytes]:
        try:
            while chunk := response.read1(_CHUNK_BYTES):
                yield chunk
        except (OSError, http.client.HTTPException) as error:
            reason = self._no_answer(error, timeout_seconds)
            raise NoAnswerError(
                f"the list broke off, so it is not whole: {reason}", is_permanent=True
            ) from error
        finally:
            connection.close()

    def close(self) -> None:
        """Close the connection of this thread; the next call opens another one."""
        connection = getattr(self._own, "connection", None)
        if connection is not None:
            connection.close()

    def _connection(self, timeout_seconds: float) -> http.client.HTTPConnection:
        # A forked process must not write into its parent's connection.
        if getattr(self._own, "pid", None) != os.getpid():
            self._own.pid = os.getpid()
            self._own.connection = self._new_connection()
        connection: http.client.HTTPConnection = self._own.connection
        connection.timeout = timeout_seconds
        if connection.sock is not None:
            connection.sock.settimeout(timeout_seconds)
        return connection

    def _new_connection(self) -> http.client.HTTPConnection:
        if self._tls is None:
            return _PlainConnection(self._url.host, self._url.port)
        return _SecureConnection(self._url.host, self._url.port, context=self._tls)

    def _read(self, response: http.client.HTTPResponse, deadline: float) -> Reply:
        chunks = []
        size = 0
        while chunk := response.read(_CHUNK_BYTES):
            chunks.append(chunk)
            size += len(chunk)
            if size > _RESPONSE_BYTES_MAX:
                raise http.client.HTTPException(
                    f"the answer is longer than {_RESPONSE_BYTES_MAX} bytes"
                )
            if self._clock.monotonic() > deadline:
                raise TimeoutError
        # Before Python 3.12, reading in chunks does not notice a truncated answer.
        if response.length:
            raise http.client.IncompleteRead(b"", response.length)
        headers = {name.lower(): value for name, value in response.getheaders()}
        return Reply(
            response.status, headers, b"".join(chunks).decode("utf-8", "replace")
        )

    def _no_answer(self, error: Exception, timeout_seconds: float) -> NoAnswerError:
        begin = f"no answer from {self._url.origin}"
        if isinstance(error, ssl.SSLCertVerificationError):
            return NoAnswerError(
                f"{begin}: its certificate is not trusted ({error.verify_message}); "
                "for a private authority, give its certificate as ca_file",
                is_permanent=True,
            )
        if isinstance(error, (TimeoutError, socket.timeout)):
            return NoAnswerError(f"{begin} within {timeout_seconds:g} s")
        return NoAnswerError(f"{begin}: {str(error) or type(error).__name__}")
