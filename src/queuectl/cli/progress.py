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


class Bar:
    """How much of a known number has ended, and when the rest will have, on stderr.

    Others may write to the same terminal: they call `clear` first.
    """

    __slots__ = ("_begin", "_done", "_first", "_latest", "_line", "_shown")

    def __init__(self) -> None:
        self._begin = self._latest = time.monotonic()  # the latest end
        self._done = 0
        self._first: int | None = None  # what had ended before we looked says nothing about the pace
        self._line = ""
        self._shown = 0.0

    def __call__(self, done: int, total: int, note: str = "") -> None:
        now = time.monotonic()
        self._first = done if self._first is None else self._first
        if done != self._done:
            self._done, self._latest = done, now
        if now - self._shown < _EVERY_SECONDS:
            return
        self._shown = now
        line = f"{_bar(done / max(total, 1))}{done:,} of {total:,} ended{note}{self._eta(done, total, now)}"
        if line != self._line:
            self._line = line
            sys.stderr.write(f"\r{line}\x1b[K")
            sys.stderr.flush()

    def _eta(self, done: int, total: int, now: float) -> str:
        from queuectl.core.durations import format_duration

        ended = done - (self._first or 0)
        if ended < 1 or done >= total:
            return ""
        left = (self._latest - self._begin) / ended * (total - done) - (now - self._latest)
        return f", {format_duration(max(round(left), 1) * 1000)} left"

    def clear(self) -> None:
        if self._line:
            self._line, self._shown = "", 0.0
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
