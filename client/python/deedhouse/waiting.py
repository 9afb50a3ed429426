"""Waits until an order or an account reaches a final status."""

from typing import Any, Callable, Optional

from .answers import Answer
from .clock import Clock
from .errors import ApiError, NoAnswerError, WaitTimeoutError, is_transient

OnStatus = Callable[[Answer[Any]], None]

# Used when an unfinished answer does not say when to look again, and after a failure.
_CHECK_AFTER_SECONDS_DEFAULT = 10
# Guards against a service that always says 0.
_CHECK_AFTER_SECONDS_MIN = 1
# The longest time for which the service holds an answer (Prefer: wait=N).
_HOLD_SECONDS_MAX = 30


def wait_until_final(
    look: Callable[[int], Answer[Any]],
    is_final: Callable[[str], bool],
    *,
    timeout_seconds: float,
    check_after_seconds: Optional[int],
    on_status: Optional[OnStatus],
    clock: Clock,
) -> Answer[Any]:
    """Look until the status is final.

    Each look asks the service to hold its answer until something changes. If the
    service says that it does, a change is followed by another look at once; otherwise
    ``check-after`` passes from look to look. Only the last look, when the time runs
    out, may come earlier. Faults are retried until then.
    """
    deadline = clock.monotonic() + timeout_seconds
    usual = check_after_seconds or _CHECK_AFTER_SECONDS_DEFAULT
    delay = 0.0
    latest: Optional[Answer[Any]] = None
    while True:
        remaining = max(0.0, deadline - clock.monotonic())
        # Decided before the sleep: timers may fire a little early.
        is_last_look = delay >= remaining
        clock.sleep(min(delay, remaining))
        looked_at = clock.monotonic()
        try:
            answer = look(int(min(_HOLD_SECONDS_MAX, max(0.0, deadline - looked_at))))
        except (ApiError, NoAnswerError) as error:
            if is_last_look or not is_transient(error):
                raise
            retry_after = getattr(error, "retry_after_seconds", None)
            delay = retry_after or _CHECK_AFTER_SECONDS_DEFAULT
            continue
        is_new = latest is None or _status(answer) != _status(latest)
        latest = answer
        if is_new and on_status:
            on_status(answer)
        if is_final(_status(answer)):
            return answer
        check_after = answer.check_after_seconds
        due = max(
            _CHECK_AFTER_SECONDS_MIN, usual if check_after is None else check_after
        )
        passed = clock.monotonic() - looked_at
        delay = 0.0 if is_new and answer.is_wait_applied else max(0.0, due - passed)
        if is_last_look or clock.monotonic() >= deadline:
            raise WaitTimeoutError(_status(answer), check_after)


def _status(answer: Answer[Any]) -> str:
    # A service without statuses shows only accounts that are ready.
    return str(answer.data.get("status", "Ready"))
