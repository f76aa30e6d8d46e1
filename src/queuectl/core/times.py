"""Points in time, as epoch milliseconds: read what people write, print what they can check.

Lengths of time are left to `durations`, clock changes to `zones`. The clock itself is the
caller's: everything relative is relative to the `now_ms` that is passed in.
"""

from __future__ import annotations

import re

from queuectl.core.durations import format_age, format_distance, format_duration, parse_duration, quoted
from queuectl.errors import InvalidInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import date, time, tzinfo

    Parts = dict[str, str | None]

__all__ = [
    "ISO_FORMS",
    "MAX_TIME_MS",
    "WHEN_FORMS",
    "describe_when",
    "format_age",
    "format_duration",
    "iso",
    "parse_duration",
    "parse_iso",
    "parse_when",
]

_OUTSIDE = "outside the years 1970 to 9999"
_ISO_TEXT = "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ"  # a third faster than an f-string
MAX_TIME_MS = 253_402_300_799_999  # the last millisecond of the year 9999, UTC

WHEN_FORMS = (
    "Write now, +10m, 'in 2h', a date (2026-12-01, '2026-12-01 09:00', 2026-12-01T09:00:00Z, "
    "'2026-12-01 09:00 Europe/Berlin'), 17:30, 9am, 'today 17:00', 'tomorrow 9am' or 'mon 9:00'."
)
ISO_FORMS = (
    "Write ISO 8601: 2026-12-01T09:00:00Z, 2026-12-01T09:00:00+01:00, or local time as 2026-12-01T09:00:00."
)

# Patterns stay text: `re` compiles and keeps each at its first use, so importing costs nothing.
_DATE = r"(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)"
_MINUTES = r":(?P<minute>\d\d)(?::(?P<second>\d\d)(?:[.,](?P<fraction>\d+))?)?"
_OFFSET = r"(?: ?(?P<offset>Z|[+-]\d\d(?::?\d\d)?))?"
_ISO = rf"{_DATE}(?:[T ](?P<hour>\d\d){_MINUTES}{_OFFSET})?"
_DAY = rf"(?:{_DATE}(?:T(?=\d)|\b ?)|(?P<word>[a-z]+)\b ?)?"
_CLOCK = rf"(?:(?P<hour>\d\d?)(?:{_MINUTES})?(?: ?(?P<half>[ap]m))?{_OFFSET})?"
# Capital letters alone are matched as a zone only to be refused by name (CET, PST).
_ZONE = r"(?: (?P<zone>UTC|GMT|[a-z]+/[\w/+-]+|(?-i:[A-Z]{2,5})))?"
_WHEN = _DAY + _CLOCK + _ZONE

_WEEK = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_WEEKDAYS = {name: day for day, full in enumerate(_WEEK) for name in (full, full[:3])}
_WEEKDAYS |= {"tues": 1, "thur": 3, "thurs": 3}


def parse_when(text: str, *, now_ms: int, zone: tzinfo | None = None, what: str = "time") -> int:
    """Epoch milliseconds of a time as people write it (WHEN_FORMS); nothing is guessed.

    Without a zone in the text it is a time in `zone`. A clock time or a weekday alone is the
    next one strictly after now; a full date, or `today` with a time, may lie in the past.
    """
    words = " ".join(text.split())
    if words.lower() == "now":
        return now_ms
    relative = re.match(r"\+|in ", words, re.IGNORECASE | re.ASCII)
    try:
        if relative:
            return _in_range(now_ms + parse_duration(words[relative.end() :], what=what))
        if re.fullmatch(r"-?[0-9]+(?:\.[0-9]+)?", words):
            raise InvalidInput(
                f"{what} {quoted(text)}: a bare number could mean anything",
                "Write +90s for 90 seconds from now, or a date such as 2026-12-01 09:00.",
            )
        found = re.fullmatch(_WHEN, words, re.IGNORECASE | re.ASCII) if words else None
        if found is None:
            raise ValueError("not a time in a known form")
        return _in_range(_evaluate(found.groupdict(), now_ms, zone))
    except (ValueError, OverflowError, OSError) as error:
        raise InvalidInput(f"{what} {quoted(text)}: {error}", WHEN_FORMS) from error


def parse_iso(value: object, *, what: str, zone: tzinfo | None = None) -> int:
    """Epoch milliseconds of an ISO 8601 date or date-time; without an offset it is in `zone`."""
    try:
        text = value.strip() if isinstance(value, str) else ""
        found = re.fullmatch(_ISO, text, re.IGNORECASE | re.ASCII)
        if found is None:
            raise ValueError("not an ISO 8601 time")
        return _in_range(_evaluate(found.groupdict(), 0, zone))
    except (ValueError, OverflowError, OSError) as error:
        raise InvalidInput(f"{what} {quoted(value)}: {error}", ISO_FORMS) from error


def _in_range(ms: int) -> int:
    if not 0 <= ms <= MAX_TIME_MS:
        raise ValueError(_OUTSIDE)
    return ms


def _evaluate(parts: Parts, now_ms: int, zone: tzinfo | None) -> int:
    from datetime import date, timedelta

    from queuectl.core.zones import wall_clock

    zone = _zone(parts) or zone
    clock = _clock(parts)
    if parts["year"]:
        day = date(*(int(parts[name] or 0) for name in ("year", "month", "day")))
        if day.year < 1970:
            raise ValueError(_OUTSIDE)
        return _at(day, clock, zone)
    today = wall_clock(now_ms, zone).date()
    word = (parts["word"] or "").lower()
    if word == "today" and clock is None:
        raise ValueError("today needs a time of day, as in 'today 17:00'")
    if word in ("today", "tomorrow"):
        return _at(today + timedelta(days=word == "tomorrow"), clock, zone)
    if word and word not in _WEEKDAYS:
        raise ValueError("not a time in a known form")
    ahead, period = ((_WEEKDAYS[word] - today.weekday()) % 7, 7) if word else (0, 1)
    ms = _at(today + timedelta(days=ahead), clock, zone)
    return ms if ms > now_ms else _at(today + timedelta(days=ahead + period), clock, zone)


def _at(day: date, clock: time | None, zone: tzinfo | None) -> int:
    from datetime import datetime, time

    from queuectl.core.zones import instant_of

    return instant_of(datetime.combine(day, clock or time()), zone)


def _clock(parts: Parts) -> time | None:
    from datetime import time

    if parts["hour"] is None:
        return None
    hour, half = int(parts["hour"]), (parts.get("half") or "").lower()
    if half:
        if not 1 <= hour <= 12:
            raise ValueError("hours with am or pm go from 1 to 12")
        hour = hour % 12 + (12 if half == "pm" else 0)
    elif parts["minute"] is None:
        raise ValueError("an hour alone is not a time, write 9:00 or 9am")
    micros = (parts["fraction"] or "")[:3].ljust(6, "0")
    return time(hour, int(parts["minute"] or 0), int(parts["second"] or 0), int(micros))


def _zone(parts: Parts) -> tzinfo | None:
    from datetime import UTC, timedelta, timezone

    from queuectl.core.zones import find_zone

    offset, name = parts["offset"], parts.get("zone")
    if offset and name:
        raise ValueError("both an offset and a time zone")
    if name:
        return find_zone(name)
    if not offset or offset in "Zz":
        return UTC if offset else None
    hours, minutes = int(offset[1:3]), int(offset[3:].lstrip(":") or 0)
    if hours * 60 + minutes > 14 * 60 or minutes > 59:
        raise ValueError(f"there is no offset {offset}")
    delta = timedelta(hours=hours, minutes=minutes)
    return timezone(-delta if offset[0] == "-" else delta)


def iso(ms: int | None) -> str | None:
    """`2026-11-15T22:00:00.123Z`: UTC, always three decimals; None stays None.

    Plain arithmetic, since importing datetime would take longer than all the rest of a short
    command's output. Days are counted in years that start in March (leap days come last).
    """
    if ms is None:
        return None
    days, rest = divmod(ms, 86_400_000)
    era, day = divmod(days + 719_468, 146_097)
    year = (day - day // 1460 + day // 36_524 - day // 146_096) // 365
    day -= 365 * year + year // 4 - year // 100
    month = (5 * day + 2) // 153
    day -= (153 * month + 2) // 5
    year, month = era * 400 + year + month // 10, (month + 2) % 12 + 1
    rest, milli = divmod(rest, 1000)
    clock = (rest // 3600, rest // 60 % 60, rest % 60, milli)
    return _ISO_TEXT % (year, month, day + 1, *clock)


def describe_when(ms: int, *, now_ms: int, zone: tzinfo | None = None, finely: bool = False) -> str:
    """`Mon 2026-11-16 09:00 CET (in 13h)`: the echo by which a user can check what was read.

    `finely`: with a second unit, `in 1h30m`.
    """
    from datetime import UTC

    from queuectl.core.zones import wall_clock

    try:
        wall = wall_clock(ms, zone)
    except OverflowError:  # the last hours of 9999 are the year 10000 east of Greenwich
        wall = wall_clock(ms, UTC)
    day = _WEEK[wall.weekday()][:3].title()
    clock = wall.time().isoformat("seconds" if wall.second else "minutes")
    # To the nearest second: "+10m" still reads "in 10m" some milliseconds later.
    ahead = (ms - now_ms + 500) // 1000 * 1000
    distance = (
        f"in {(format_distance if finely else format_age)(ahead)}"
        if ahead > 0
        else f"{format_age(-ahead)} ago"
    )
    return f"{day} {wall.date()} {clock} {wall.tzname() or ''}".rstrip() + (
        f" ({distance})" if ahead else " (now)"
    )


def describe_start(ms: int, *, now_ms: int) -> str:
    """The same as a sentence on a job: a time that has gone by is no reason to wait for anything."""
    when = describe_when(ms, now_ms=now_ms, finely=True)
    return f"runs at once: {when} is past" if when.endswith(" ago)") else f"runs {when}"
