"""Lengths of time: read them as people write them, print them as people read them.

Points in time are left to `times`.
"""

from __future__ import annotations

import re
from functools import lru_cache

from queuectl.errors import InvalidInput

__all__ = [
    "DURATION_FORMS",
    "MAX_DURATION_MS",
    "format_age",
    "format_duration",
    "format_run",
    "parse_duration",
    "plain_number",
    "quoted",
    "seconds",
]

DURATION_FORMS = (
    "Write a number of seconds (90), or numbers with units, the largest unit first: "
    "500ms, 90s, 10m, 1.5h, 1h30m, 2d, 1w."
)

_SECOND = 1000
_MINUTE = 60 * _SECOND
_HOUR = 60 * _MINUTE
_DAY = 24 * _HOUR
_WEEK = 7 * _DAY
MAX_DURATION_MS = 36_525 * _DAY  # 100 years, leap days included

_UNIT_NAMES = (
    (1, "ms millisecond milliseconds"),
    (_SECOND, "s sec secs second seconds"),
    (_MINUTE, "m min mins minute minutes"),
    (_HOUR, "h hr hrs hour hours"),
    (_DAY, "d day days"),
    (_WEEK, "w week weeks"),
)
_UNITS = {name: size for size, names in _UNIT_NAMES for name in names.split()}

# Patterns stay text: `re` compiles and keeps each at its first use, so importing costs nothing.
# Every part needs its unit, or a row of digits could be cut up in exponentially many ways.
_NUMBER = r"[0-9]+(?:\.[0-9]+)?|\.[0-9]+"
_PARTS = rf"(?:(?:{_NUMBER}) ?[a-z]+ ?)+"
_PART = r"([0-9]*)\.?([0-9]*) ?([a-z]+)"

# Longer texts are refused, so no fraction has more digits and sums in this scale are exact.
_MAX_TEXT = 64
_SCALE = 10**_MAX_TEXT


def parse_duration(value: object, *, what: str = "duration") -> int:
    """Milliseconds in `value`: a number of seconds, or text such as `90`, `1.5h` or `1h 30m`.

    The arithmetic is exact; what is finer than a millisecond is rounded to the nearest one,
    but never to nothing: a zero may mean "no limit" to the caller, so `0.1ms` is refused.
    """
    try:
        return _whole_ms(*_exact_ms(value))
    except ValueError as error:
        raise InvalidInput(f"{what} {quoted(value)}: {error}", DURATION_FORMS) from error


def _exact_ms(value: object) -> tuple[int, int]:
    """The value in milliseconds as numerator and denominator, or ValueError with the reason."""
    if isinstance(value, str):
        return _text_ms(" ".join(value.lower().split())), _SCALE
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("not a duration")
    try:
        numerator, denominator = value.as_integer_ratio()
    except (OverflowError, ValueError) as error:  # infinity, not a number
        raise ValueError("not a finite number") from error
    return numerator * _SECOND, denominator


@lru_cache(maxsize=256)  # a file of a million jobs holds few different ones
def _text_ms(text: str) -> int:
    """The milliseconds in a text, times _SCALE."""
    if not text:
        raise ValueError("empty")
    if len(text) > _MAX_TEXT:
        raise ValueError("too long")
    if text.startswith("-"):
        raise ValueError("must not be negative")
    if re.fullmatch(_NUMBER, text):
        text += "s"
    if not re.fullmatch(_PARTS, text):
        raise ValueError("not a duration")
    total = previous = 0
    for whole, fraction, name in re.findall(_PART, text):
        unit = _UNITS.get(name)
        if unit is None:
            raise ValueError(f"unknown unit {name!r}")
        if previous and unit >= previous:
            raise ValueError(f"unit {name!r} is {'repeated' if unit == previous else 'misplaced'}")
        previous = unit
        total += int(whole + fraction) * unit * _SCALE // 10 ** len(fraction)
    return total


def _whole_ms(numerator: int, denominator: int) -> int:
    if numerator < 0:
        raise ValueError("must not be negative")
    if numerator > MAX_DURATION_MS * denominator:
        raise ValueError("too long (more than 100 years)")
    ms = (2 * numerator + denominator) // (2 * denominator)
    if numerator and not ms:
        raise ValueError("shorter than a millisecond")
    return ms


def format_duration(ms: int) -> str:
    """`250ms`, `1.5s`, `4m`, `1h30m`, `2d3h`: every unit that is not zero, days at most.

    Exact below 10 s and for whole seconds, so `parse_duration` gives the same number back;
    from 10 s on, the part below a second is dropped.
    """
    if ms < 0:
        return "-" + format_duration(-ms)
    if 0 < ms < _SECOND:
        return f"{ms}ms"
    if ms < 10 * _SECOND:
        return f"{ms // _SECOND}.{ms % _SECOND:03d}".rstrip("0").rstrip(".") + "s"
    text = ""
    for size, letter in ((_DAY, "d"), (_HOUR, "h"), (_MINUTE, "m"), (_SECOND, "s")):
        count, ms = divmod(ms, size)
        if count:
            text += f"{count}{letter}"
    return text


def format_run(ms: int) -> str:
    """How long something ran: also what is over in no time has taken some."""
    return format_duration(ms) if ms > 0 else "<1ms"


def format_age(ms: int) -> str:
    """`3s`, `4m`, `2h`, `5d`: the largest unit alone, rounded down, for columns of a table.

    Two hosts' clocks may differ by a little, so an age below zero shows as `0s`.
    """
    for size, letter in ((_DAY, "d"), (_HOUR, "h"), (_MINUTE, "m")):
        if ms >= size:
            return f"{ms // size}{letter}"
    return f"{max(ms, 0) // _SECOND}s"


def plain_number(value: float | None) -> float | int | None:
    """Numbers print as they were typed: 2, not 2.0."""
    return int(value) if value is not None and value == int(value) else value


def seconds(ms: int | None) -> float | int | None:
    """As JSON has it."""
    return None if ms is None else plain_number(ms / 1000)


def format_distance(ms: int) -> str:
    """`1m30s`, `1h30m`, `2d`: the two largest units, rounded down, for who checks what was understood."""
    for size, next_size in ((_DAY, _HOUR), (_HOUR, _MINUTE), (_MINUTE, _SECOND)):
        if ms >= size:
            rest = ms % size // next_size * next_size
            return format_age(ms) + (format_age(rest) if rest else "")
    return format_age(ms)


def quoted(value: object) -> str:
    """The offending value for a message: escaped, and cut when it is long."""
    if isinstance(value, int) and value.bit_length() > 128:
        return "(a huge number)"  # Python refuses to print integers of thousands of digits
    text = repr(value[: _MAX_TEXT + 1] if isinstance(value, str) else value)
    return text if len(text) <= _MAX_TEXT else text[: _MAX_TEXT - 1] + "…"
