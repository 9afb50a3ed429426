"""What can go wrong with a call. Every error is a :class:`DeedhouseError`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Optional

#: The code of an answer that is not in the service's format, such as a proxy's page.
UNEXPECTED_RESPONSE = "unexpected_response"


class DeedhouseError(Exception):
    """The beginning of all errors of this library."""

    def __reduce__(self) -> tuple[Any, ...]:
        # Errors travel between processes, and their arguments have names.
        return _restore, (type(self), self.args, self.__dict__)


def _restore(
    kind: type[DeedhouseError], args: tuple[Any, ...], fields: dict[str, Any]
) -> DeedhouseError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(fields)
    return error


@dataclass(frozen=True)
class FieldError:
    """A field that the service refused."""

    error_code: str
    error_text: str
    field: str


class ApiError(DeedhouseError):
    """The service refused the request.

    ``error_code`` is stable; ``error_text`` says what to do and may change.
    """

    def __init__(
        self,
        *,
        status: int,
        error_code: str,
        error_text: str,
        errors: tuple[FieldError, ...] = (),
        request_id: Optional[str] = None,
        retry_after_seconds: Optional[int] = None,
        location: Optional[str] = None,
    ) -> None:
        super().__init__(f"{error_text} ({error_code}, HTTP {status})")
        self.status = status
        self.error_code = error_code
        self.error_text = error_text
        #: The fields that the service refused.
        self.errors = errors
        #: Give it to the operator: the service's logs contain it.
        self.request_id = request_id
        self.retry_after_seconds = retry_after_seconds
        #: A path that the refusal points to, such as the order that has the name.
        self.location = location


class NoAnswerError(DeedhouseError):
    """The service was unreachable, or its answer was incomplete or late.

    A write may have been carried out: repeat it with the same idempotency key.
    """

    def __init__(self, message: str, *, is_permanent: bool = False) -> None:
        super().__init__(message)
        #: No retry: the certificate is not trusted, or a list was given out in part.
        self.is_permanent = is_permanent


class WaitTimeoutError(DeedhouseError):
    """The waiting time ran out while the service was still working.

    Nothing is lost; look again later.
    """

    def __init__(self, last_status: str, check_after_seconds: Optional[int]) -> None:
        super().__init__(f"still {last_status} when the waiting time ran out")
        #: The last status seen, such as ``Processing``.
        self.last_status = last_status
        #: Seconds until the service expects news.
        self.check_after_seconds = check_after_seconds


class UnsuccessfulError(DeedhouseError):
    """An order or the creation of an account has ended, but not with success."""

    def __init__(self, name: str, outcome: Mapping[str, Any]) -> None:
        #: The status with which it ended, such as ``FailedValidation``.
        self.status = str(outcome.get("status"))
        #: The order or the account, as the service shows it.
        self.outcome = outcome
        reason = outcome.get("error_text")
        ending = f": {reason}" if reason else ""
        super().__init__(f"{name} ended as {self.status}{ending}")


def is_transient(error: BaseException) -> bool:
    """Return whether the same call may succeed later unchanged."""
    if isinstance(error, NoAnswerError):
        return not error.is_permanent
    return isinstance(error, ApiError) and (error.status == 429 or error.status >= 500)
