"""For tests, ours and yours: a clock that is turned by hand, and waiting without sleeping blindly."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, TypeVar

from queuectl.clock import Clock

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

__all__ = ["FakeClock", "wait_until"]


class FakeClock(Clock):
    """Stands still until it is told to advance; wall and monotonic time move together."""

    __slots__ = ("_elapsed", "_start")

    def __init__(self, start_ms: int = 1_700_000_000_000) -> None:
        self._start = start_ms
        self._elapsed = 0

    def now(self) -> int:
        return self._start + self._elapsed

    def monotonic(self) -> float:
        return self._elapsed / 1000

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self._elapsed += round(seconds * 1000)

    def jump(self, seconds: float) -> None:
        """Set the wall clock, as an administrator or NTP would; monotonic time does not move."""
        self._start += round(seconds * 1000)


def wait_until(condition: Callable[[], T], *, timeout: float = 20.0, what: str = "the condition") -> T:
    """Poll until the condition is truthy and return its value; fail loudly when the time is up."""
    deadline = time.monotonic() + timeout
    pause = 0.002
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {timeout:g} s for {what}")
        time.sleep(pause)
        pause = min(pause * 1.5, 0.05)
