"""The library's source of time."""

import time
from typing import Protocol


class Clock(Protocol):
    """Tests pass one that does not wait."""

    def now(self) -> float:
        """Return the time in unix seconds, for the signature."""

    def monotonic(self) -> float:
        """Return seconds that never go back, for deadlines."""

    def sleep(self, seconds: float) -> None:
        """Wait."""


class SystemClock:
    """The clock of this machine."""

    def now(self) -> float:
        """Return the time in unix seconds."""
        return time.time()

    def monotonic(self) -> float:
        """Return seconds that never go back."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)
