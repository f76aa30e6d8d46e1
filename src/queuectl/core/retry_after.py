"""When a command that ended with 75 wants to be tried again: what it wrote, read as a time.

Where it writes that, and what becomes of the job, is left to others.
"""

from __future__ import annotations

from queuectl.core.durations import format_duration, parse_duration, quoted
from queuectl.errors import InvalidInput

__all__ = ["LONGEST_MS", "read_retry_after"]

LONGEST_MS = 30 * 24 * 3600 * 1000


def read_retry_after(text: str, *, now_ms: int) -> tuple[int | None, str | None]:
    """The time to try again, None if the text says none, and what is to be told about it.

    `300` and `5m` are counted from now; else it is a point in time, at once if that is over.
    """
    words = text.strip()
    if not words:
        return None, None  # made, but nothing was written
    wanted = _time(words, now_ms)
    if wanted is None:
        return None, f"ignored QUEUECTL_RETRY_AFTER {quoted(words)}: neither a duration nor a time"
    if wanted > now_ms + LONGEST_MS:
        longest = format_duration(LONGEST_MS)
        return now_ms + LONGEST_MS, f"QUEUECTL_RETRY_AFTER {quoted(words)} cut to {longest}"
    return max(wanted, now_ms), None


def _time(words: str, now_ms: int) -> int | None:
    try:
        return now_ms + parse_duration(words)
    except InvalidInput:
        pass
    from queuectl.core.times import parse_when

    try:
        return parse_when(words, now_ms=now_ms)
    except InvalidInput:
        return None
