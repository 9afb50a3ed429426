"""The signature of requests: ``Authorization: hmac key:signature:nonce:timestamp``."""

import base64
import hashlib
import hmac
import secrets
from dataclasses import dataclass, field
from urllib.parse import quote

_RANDOM_BYTES = 16


@dataclass(frozen=True)
class SignInput:
    """The data that one signature covers."""

    api_key: str
    #: The secret as issued: its characters are the HMAC key, never decoded from hex.
    api_secret: str = field(repr=False)
    method: str
    #: Path and query exactly as sent, with the version: ``/v1/domains?take=10``.
    target: str
    #: The raw bytes of the body; empty for a request without one.
    body: bytes
    #: Use it once; see :func:`new_nonce`.
    nonce: str
    timestamp: int


def string_to_sign(request: SignInput) -> str:
    """Return the text that is signed.

    The target is encoded once more as one text, so ``/`` becomes ``%2F``.
    """
    return "".join(
        (
            request.api_key,
            request.method.lower(),
            quote(request.target, safe=""),
            str(request.timestamp),
            request.nonce,
            _body_digest(request.body),
        )
    )


def authorization_header(request: SignInput) -> str:
    """Return the value of the ``Authorization`` header."""
    digest = hmac.new(
        request.api_secret.encode(), string_to_sign(request).encode(), hashlib.sha256
    ).digest()
    signature = base64.b64encode(digest).decode()
    return f"hmac {request.api_key}:{signature}:{request.nonce}:{request.timestamp}"


def new_nonce() -> str:
    """Return a new nonce: 32 random hex digits."""
    return secrets.token_hex(_RANDOM_BYTES)


def new_idempotency_key() -> str:
    """Return a value for ``Idempotency-Key``.

    A repeat with the same key is the same order, never a second one.
    """
    return secrets.token_hex(_RANDOM_BYTES)


def _body_digest(body: bytes) -> str:
    # The scheme demands MD5; it only binds the body to the HMAC-SHA256 signature.
    if not body:
        return ""
    digest = hashlib.md5(body, usedforsecurity=False).digest()
    return base64.b64encode(digest).decode()
