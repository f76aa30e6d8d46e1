"""A progress line on a terminal, nothing elsewhere."""

from __future__ import annotations

import sys
import time

_EVERY_SECONDS = 0.1


class Counter:
    """A count that grows and its rate; for work whose size is not known beforehand.

    A context manager, so that no half a line is left behind when the work fails.
    """

    __slots__ = ("_begin", "_shown", "_what")

    def __init__(self, what: str) -> None:
        self._what = what
        self._begin = self._shown = time.monotonic()

    def __enter__(self) -> Counter:
        return self

    def __call__(self, done: int) -> None:
        now = time.monotonic()
        if now - self._shown >= _EVERY_SECONDS:
            self._shown = now
            rate = done / (now - self._begin)
            sys.stderr.write(f"\r{done:,} {self._what} ({rate:,.0f}/s)\x1b[K")
            sys.stderr.flush()

    def __exit__(self, *exc: object) -> None:
        if self._shown != self._begin:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
