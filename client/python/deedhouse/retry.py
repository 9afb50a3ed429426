"""Decides whether to retry a call, and whether with the same signature.

The service frees a nonce when it answers 429 or 5xx, and answers an identical resend
of a committed write with the stored answer. So after those, and after a lost
connection, the very same request is sent again: it can never count twice. When the
nonce stays used, or the signature is too old, the request is signed again; a write is
still safe, because it keeps its Idempotency-Key.
"""

import random
from dataclasses import dataclass
from typing import Optional, Union

from .errors import ApiError, NoAnswerError, is_transient

_BACKOFF_SECONDS_MIN = 0.5
_BACKOFF_SECONDS_MAX = 30.0
# For a longer retry-after, the caller gets the error with the number.
_RETRY_AFTER_SECONDS_MAX = 120
# The service may refuse timestamps up to the second in which it started, so the new
# timestamp must be a later second.
_TIMESTAMP_DELAY_SECONDS = 1.1

Failure = Union[ApiError, NoAnswerError]


@dataclass(frozen=True)
class RetryPlan:
    """How to retry a failed call."""

    delay_seconds: float
    #: Sign again, instead of sending the identical request.
    is_signed_again: bool


@dataclass(frozen=True)
class RetryNotice(RetryPlan):
    """A retry that is about to happen, for display."""

    error: Failure
    #: 1 for the first retry.
    retry: int


def plan_retry(
    error: Failure, previous: Optional[Failure], retries_done: int
) -> Optional[RetryPlan]:
    """Return what to do after ``error``; ``None`` when it is final.

    ``previous`` is the failure before it in the same call.
    """
    if isinstance(error, NoAnswerError):
        if error.is_permanent:
            return None
        return RetryPlan(_backoff_seconds(retries_done), is_signed_again=False)
    if is_transient(error) or error.status == 408:
        delay: float = _backoff_seconds(retries_done)
        if error.retry_after_seconds is not None:
            delay = error.retry_after_seconds
        if delay > _RETRY_AFTER_SECONDS_MAX:
            return None
        return RetryPlan(delay, is_signed_again=False)
    if error.error_code in ("authorization_nonce_reused", "idempotency_in_progress"):
        return RetryPlan(_backoff_seconds(retries_done), is_signed_again=True)
    if error.error_code == "authorization_timestamp_invalid":
        # The signature may have become too old while it was resent; two refusals in a
        # row mean that the clocks disagree.
        if isinstance(previous, ApiError) and previous.error_code == error.error_code:
            return None
        return RetryPlan(_TIMESTAMP_DELAY_SECONDS, is_signed_again=True)
    return None


def _backoff_seconds(retries_done: int) -> float:
    """Double from half a second to 30 s.

    The second half is random, so that clients do not return in step.
    """
    half = min(_BACKOFF_SECONDS_MAX, _BACKOFF_SECONDS_MIN * 2.0**retries_done) / 2
    return half + random.uniform(0, half)
