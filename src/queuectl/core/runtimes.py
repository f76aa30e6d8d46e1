"""How long a command usually takes, learned from its successes; what follows for a timeout in percent.

A command is what is run and where: the shell line or the argument list, and the directory. Its queue, its
environment and its input are not part of it. Gathering and keeping the durations is left to others.
"""

from __future__ import annotations

import re

from queuectl.core.durations import format_duration, quoted
from queuectl.core.job import PERCENT
from queuectl.core.measures import percentile
from queuectl.errors import InvalidInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from queuectl.core.job import Job

LEAST_RUNS = 3  # successes from which on a command is known
SHORTEST_LIMIT_MS = 1_000  # below that, the noise of a machine would end commands
_LAST_CLASS = 320  # from 70 years on
_LOWEST, _HIGHEST = 101, 100_000
_FORMS = "like 300%: three times as long as the command usually takes"


def class_of_run(ms: int) -> int:
    """Finer than those of `measures`: eight classes for each power of two, so right within a sixteenth."""
    ms = max(ms, 0)
    doublings = max(ms.bit_length() - 4, 0)
    return min(8 * doublings + (ms >> doublings), _LAST_CLASS)


def shortest_of(number: int) -> int:
    """The shortest duration of such a class, in milliseconds."""
    if number < 16:
        return number
    return (8 + number % 8) << (number // 8 - 1)


def digest_of(command: str, argv: str | None, cwd: str | None) -> str:
    """By which a command is known. `argv` is JSON; a shell line that reads the same is another command."""
    from hashlib import blake2b

    words = f"argv {argv}" if argv else f"line {command}"
    return blake2b(f"{words}\0{cwd or ''}".encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


class Known:
    """What is known of one command: how many of its last successes took how long, in classes."""

    __slots__ = ("median_ms", "runs")

    def __init__(self, classes: Mapping[int, int]) -> None:
        self.runs = sum(classes.values())
        median = percentile(classes, 0.5, shortest_of)
        self.median_ms = None if median is None or self.runs < LEAST_RUNS else round(median * 1000)

    def limit_ms(self, percent: int) -> int | None:
        """None while too little is known."""
        if self.median_ms is None:
            return None
        return max(self.median_ms * percent // 100, SHORTEST_LIMIT_MS)


UNKNOWN = Known({})


def parse_percent(value: object, what: str) -> int:
    """From `300%` or the number 300."""
    text = str(value).strip().removesuffix("%").strip() if isinstance(value, str) else value
    number = int(text) if isinstance(text, str) and re.fullmatch(r"[0-9]{1,9}", text) else text
    if isinstance(number, bool) or not isinstance(number, int):
        raise InvalidInput(f"{what} {quoted(value)} is not a whole number of percent", _FORMS).about(what)
    if not _LOWEST <= number <= _HIGHEST:
        raise InvalidInput(
            f"{what} must be between {_LOWEST}% and {_HIGHEST:,}%, not {quoted(value)}", _FORMS
        ).about(what)
    return number


def one_timeout(given: Mapping[str, object]) -> Mapping[str, object]:
    """One as a duration takes the place of one in percent, and the other way round, unless both are given."""
    value = given.get("timeout")
    if isinstance(value, str) and value.rstrip().endswith("%"):
        return {**given, "timeout": None, PERCENT: parse_percent(value, "timeout")}
    return {PERCENT: None, **given} if "timeout" in given else given


def percent_of(job: Job) -> int | None:
    """Its timeout in percent. A number that nobody could have given was damaged in the store, and is none."""
    found = job.rule(PERCENT)
    in_range = isinstance(found, int) and not isinstance(found, bool) and _LOWEST <= found <= _HIGHEST
    return found if in_range else None


def limit_in_words(known: Known, percent: int) -> str:
    """`36s (300% of its usual 12s)`, or why there is none yet."""
    limit = known.limit_ms(percent)
    if limit is None or known.median_ms is None:
        had = f"{known.runs} of {LEAST_RUNS} successes"
        return f"{percent}% of its usual run time, which is not known yet ({had}): no such limit so far"
    usual = format_duration(known.median_ms)
    least = ", but at least that" if known.median_ms * percent // 100 < limit else ""
    return f"{format_duration(limit)} ({percent}% of its usual {usual}{least})"
