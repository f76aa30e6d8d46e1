"""A progress line on a terminal, nothing elsewhere."""

from __future__ import annotations

import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_EVERY_SECONDS = 0.1
_WIDTH = 24


def _bar(share: float | None) -> str:
    if share is None:
        return ""
    filled = round(min(max(share, 0.0), 1.0) * _WIDTH)
    return f"[{'#' * filled}{'-' * (_WIDTH - filled)}] {share:4.0%}  "


class Counter:
    """A count that grows, its rate, and a bar where the size of the work can be told.

    `share` says how much is done, 0 to 1, given the count; None where nobody knows. A context manager, so
    that no half a line is left behind when the work fails.
    """

    __slots__ = ("_begin", "_share", "_shown", "_what")

    def __init__(self, what: str, share: Callable[[int], float | None] = lambda _: None) -> None:
        self._what = what
        self._share = share
        self._begin = self._shown = time.monotonic()

    def __enter__(self) -> Counter:
        return self

    def __call__(self, done: int) -> None:
        now = time.monotonic()
        if now - self._shown >= _EVERY_SECONDS:
            self._shown = now
            rate = done / (now - self._begin)
            sys.stderr.write(f"\r{_bar(self._share(done))}{done:,} {self._what} ({rate:,.0f}/s)\x1b[K")
            sys.stderr.flush()

    def __exit__(self, *exc: object) -> None:
        if self._shown != self._begin:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
