"""A progress line on a terminal, nothing elsewhere."""

from __future__ import annotations

import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

from contextlib import contextmanager


@contextmanager
def counter(what: str, *, show: bool) -> Iterator[Callable[[int], None] | None]:
    """A count that grows and its rate; for work whose size is not known beforehand."""
    if not show:
        yield None
        return
    begin = time.monotonic()
    shown = begin

    def progress(done: int) -> None:
        nonlocal shown
        now = time.monotonic()
        if now - shown >= 0.1:
            shown = now
            sys.stderr.write(f"\r{done:,} {what} ({done / (now - begin):,.0f}/s)\x1b[K")
            sys.stderr.flush()

    try:
        yield progress
    finally:
        if shown != begin:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
