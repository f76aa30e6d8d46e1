"""Rates as people write them (`100/min`), and the bucket that keeps to one.

A bucket is one number, the theoretical arrival time (`tat`) of the generic cell rate algorithm:
when all that was granted will have been paid off. It is counted in epoch nanoseconds, so it keeps
its meaning when the rate is changed and fits in 64 bits; 0 is a fresh, full bucket. Where it is
kept, and that two callers do not use it at once, is left to the store.

The burst is how many may go at once after a rest. Unless given it is what comes in one second, at
least 1: who writes `100/min` does not want 100 jobs in the first second and none in the other 59,
but who writes `50/s` does not mind them in batches.
"""

from __future__ import annotations

import re

from queuectl.core.durations import MAX_DURATION_MS, format_duration, parse_duration, quoted
from queuectl.errors import InvalidInput

__all__ = ["MAX_COUNT", "RATE_FORMS", "Rate", "allow", "next_at", "parse_rate"]

RATE_FORMS = "Write how many in what time: 5/s, 100/min, 1000/h, 200/day, 10/30s."
MAX_COUNT = 1_000_000

_NS = 1_000_000  # in a millisecond

# A caller that comes less late than this loses nothing of the rate, else every wake-up would cost
# some. Who comes later was not waiting: its bucket is full, and no fuller.
_LATE_NS = 100 * _NS

# A bucket further in debt than a whole burst and this comes from a clock that was set back, or from
# another rate. Below it the debt is waited for: the clocks of two machines may differ by as much.
_SKEW_NS = 60_000 * _NS

_MAX_TEXT = 64
_FORM = r"([0-9]+) ?/ ?([a-z0-9. ]+)"
_SHORT = {"1s": "s", "1m": "min", "1h": "h", "1d": "day"}


class Rate:
    """So many in so many milliseconds, and so many at once."""

    __slots__ = ("burst", "count", "per_ms")

    def __init__(self, count: int, per_ms: int, burst: int | None = None) -> None:
        self.count = count
        self.per_ms = per_ms
        self.burst = max(1, count * 1000 // per_ms) if burst is None else burst

    def __str__(self) -> str:
        """`100/min`: reads back as the same rate; the burst is told apart."""
        return f"{self.count}/{_period(self.per_ms)}"

    def __repr__(self) -> str:
        return f"Rate({self.count}, {self.per_ms}, burst={self.burst})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Rate):
            return NotImplemented
        return (self.count, self.per_ms, self.burst) == (other.count, other.per_ms, other.burst)

    def __hash__(self) -> int:
        return hash((self.count, self.per_ms, self.burst))

    def time_ns(self, tokens: int) -> int:
        """How long so many take. Rounded up: an error can only slow down, by 1 ns at each call."""
        return -(-tokens * self.per_ms * _NS // self.count)

    def tokens(self, ns: int) -> int:
        """How many whole ones come in this time."""
        return ns * self.count // (self.per_ms * _NS)


def parse_rate(text: object, what: str = "rate", *, burst: object = None) -> Rate:
    """The rate in a text such as `100/min` or `10/30s`; no burst means one second's worth."""
    if not isinstance(text, str):
        raise InvalidInput(f"{what} must be text", RATE_FORMS)
    try:
        rate = Rate(*_read(text))
    except ValueError as error:
        raise InvalidInput(f"{what} {quoted(text)}: {error}", RATE_FORMS) from error
    if burst is not None:
        rate.burst = _checked_burst(rate, burst, what)
    return rate


def allow(rate: Rate, tat: int, now_ms: int, wanted: int) -> tuple[int, int]:
    """How many of the wanted may go now, and the bucket after that.

    Store the new bucket whenever it differs, even if nothing was granted: it may have been mended.
    """
    now = now_ms * _NS
    full = rate.time_ns(rate.burst)
    if tat > now + full + _SKEW_NS:
        tat = now + full  # mended to empty, never to more: the clock must not make a gift
    # Less than one token's time, roundings included: no more than the burst ever goes at once.
    late = min(_LATE_NS, rate.time_ns(1) - 2)
    start = tat if tat > now - late else now
    granted = min(wanted, rate.tokens(now + full - start))
    if granted <= 0:
        return 0, tat
    return granted, start + rate.time_ns(granted)


def next_at(rate: Rate, tat: int, now_ms: int) -> int:
    """The first millisecond from now on in which `allow` grants at least one.

    Give it the bucket that `allow` gave back, which is a sound one at this time.
    """
    due = tat - rate.time_ns(rate.burst) + rate.time_ns(1)
    return max(now_ms, -(-due // _NS))


def _read(text: str) -> tuple[int, int]:
    """Count and milliseconds, or ValueError with the reason."""
    plain = " ".join(text.split())
    if not plain:
        raise ValueError("empty")
    if len(plain) > _MAX_TEXT:
        raise ValueError("too long")
    if plain.startswith("-"):
        raise ValueError("must not be negative")
    match = re.fullmatch(_FORM, plain.lower()) if plain.isascii() else None
    if match is None:
        raise ValueError("not a rate")
    count, per_ms = int(match[1]), _read_period(match[2])
    if count == 0:
        raise ValueError("nothing would ever run; pause the queue instead")
    if count > MAX_COUNT:
        raise ValueError(f"more than {MAX_COUNT:,} at a time")
    if count > MAX_COUNT * per_ms // 1000:
        raise ValueError(f"more than {MAX_COUNT:,} in a second")
    return count, per_ms


def _read_period(text: str) -> int:
    if text.replace(".", "").isdigit():
        raise ValueError(f"{text} of what? The unit of time is missing")
    try:
        per_ms = parse_duration(text if text[0] in "0123456789." else f"1{text}")
    except InvalidInput:
        raise ValueError(f"{quoted(text)} is not a length of time") from None
    if per_ms == 0:
        raise ValueError("the time must be more than 0")
    return per_ms


def _period(ms: int) -> str:
    text = format_duration(ms)
    if ms >= 10_000 and ms % 1000:  # there format_duration leaves the milliseconds out
        text = f"{ms}ms"
    return _SHORT.get(text, text)


def _checked_burst(rate: Rate, value: object, what: str) -> int:
    hint = f"how many may go at once: a whole number from 1 to {MAX_COUNT:,}; without it {rate.burst}"
    is_digits = isinstance(value, str) and re.fullmatch(r"[0-9]{1,7}", value)
    burst = int(str(value)) if is_digits else value
    if isinstance(burst, bool) or not isinstance(burst, int) or not 1 <= burst <= MAX_COUNT:
        shown = f" {quoted(value)}" if isinstance(value, str | int | float) else ""
        raise InvalidInput(f"the burst{shown} of {what} {rate} is not allowed", hint)
    if burst * rate.per_ms < rate.count:
        raise InvalidInput(
            f"a burst of {burst} cannot keep up with {what} {rate}",
            f"time is counted in whole milliseconds: {-(-rate.count // rate.per_ms)} at least",
        )
    if burst * rate.per_ms > MAX_DURATION_MS * rate.count:
        raise InvalidInput(f"a burst of {burst} takes more than 100 years at {what} {rate}", hint)
    return burst
