"""When a recurring schedule fires: cron fields, macros and `@every`, across clock changes and downtime.

What a firing does, and that it happens once though several schedulers look, is left to the store.
Calendar arithmetic is cronsim's, but only in UTC: around clock changes its own handling can go back
in time (2.8: asked within the repeated hour) and leave firings out (shifts of half an hour), so the
step from a wall clock's reading to an instant is made here.
"""

from __future__ import annotations

from queuectl.core.durations import format_duration, parse_duration, quoted
from queuectl.core.times import MAX_TIME_MS
from queuectl.core.zones import find_zone, instant_of, wall_clock
from queuectl.errors import InvalidInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime, tzinfo

__all__ = [
    "CATCH_UP",
    "GRACE_MS",
    "MAX_AT_ONCE",
    "MAX_COUNTED",
    "OVERLAP",
    "RECURRENCE_FORMS",
    "Due",
    "Recurrence",
    "due",
    "in_words",
    "next_after",
    "parse_recurrence",
    "upcoming",
]

CATCH_UP = ("skip", "one", "all")
OVERLAP = ("skip", "queue", "allow")

GRACE_MS = 60_000  # a firing not older than this is on time
MAX_AT_ONCE = 1_000  # firings that one call of `due` hands out
MAX_COUNTED = 1_000  # missed firings are counted up to here

RECURRENCE_FORMS = (
    'Write five cron fields (minute, hour, day, month, weekday) in quotes, like "0 3 * * *", or @hourly, '
    "@daily, @weekly, @monthly, @yearly, or @every 10m."
)

_MACROS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_FIELDS = (
    ("minute", "0-59"),
    ("hour", "0-23"),
    ("day", "1-31, L (the last day) or LW (the last from Monday to Friday)"),
    ("month", "1-12 or JAN-DEC"),
    ("weekday", "0-7 or SUN-SAT (0 and 7 are Sunday), 5L (the last Friday) or MON#1 (the first Monday)"),
)
_MAX_TEXT = 500
_SECOND = 1_000
_DAY = 86_400_000


class Recurrence:
    """A schedule that was read: `cron` in its five fields, or else a `period` in milliseconds."""

    __slots__ = ("cron", "period", "text", "zone")

    def __init__(self, text: str, zone: str, *, cron: str = "", period: int = 0) -> None:
        self.text = text
        self.zone = zone
        self.cron = cron
        self.period = period


class Due:
    """What is to be done about a schedule now; `missed` of MAX_COUNTED means that many or more."""

    __slots__ = ("missed", "next_at", "times")

    def __init__(self, times: list[int], missed: int, next_at: int | None) -> None:
        self.times = times
        self.missed = missed
        self.next_at = next_at


def parse_recurrence(text: object, zone: str) -> Recurrence:
    """The schedule in `text` (RECURRENCE_FORMS), as clocks in the zone of that IANA name show it.

    `@every` takes whole seconds and fires at the multiples of them since 1970 in UTC, whatever the
    zone: `@every 1h` at each full hour of UTC, `@every 1d` at its midnight, `@every 1w` on Thursdays.
    """
    if not isinstance(text, str):
        raise _refusal(text, "not a text")
    words = " ".join(text.split())
    if not words or len(words) > _MAX_TEXT:
        raise _refusal(text, f"longer than {_MAX_TEXT} characters" if words else "empty")
    zone = _zone_name(zone)
    if not words.startswith("@"):
        cron = words.upper()
        _check_fields(cron, text)
        return Recurrence(cron, zone, cron=cron)
    macro, _, rest = words.lower().partition(" ")
    if macro == "@every":
        period = _period(rest, text)
        return Recurrence(f"@every {format_duration(period)}", zone, period=period)
    if macro not in _MACROS or rest:
        raise _refusal(text, f"nothing may follow {macro}" if macro in _MACROS else "there is no such macro")
    return Recurrence(macro, zone, cron=_MACROS[macro])


def _refusal(text: object, reason: str, hint: str = RECURRENCE_FORMS) -> InvalidInput:
    return InvalidInput(f"schedule {quoted(text)}: {reason}", hint)


def _zone_name(zone: str) -> str:
    if zone[:1] in ("+", "-"):
        hint = "Write Area/City (Europe/Berlin), which knows the clock changes, or UTC."
        raise InvalidInput(f"time zone {quoted(zone)}: an offset is not a zone", hint)
    return str(getattr(find_zone(zone), "key", "UTC"))


def _period(duration: str, text: object) -> int:
    hint = "Write whole seconds, one or more: @every 30s, @every 10m, @every 1h30m."
    try:
        period = parse_duration(duration)
    except InvalidInput as error:
        raise _refusal(text, error.message, hint) from error
    if not period or period % _SECOND:
        raise _refusal(text, "not a number of whole seconds", hint)
    return period


def _check_fields(cron: str, text: object) -> None:
    from cronsim import CronSim, CronSimError

    fields = cron.split()
    if len(fields) != len(_FIELDS):
        hint = RECURRENCE_FORMS
        if len(fields) > len(_FIELDS):
            hint += " Seconds and commands have no place here: every 30 seconds is @every 30s."
        raise _refusal(text, f"five fields are needed, not {len(fields)}", hint)
    for place, (field, (name, allowed)) in enumerate(zip(fields, _FIELDS, strict=True)):
        alone = ["*"] * len(_FIELDS)
        alone[place] = field
        try:
            CronSim(" ".join(alone), _reading(0))
        except CronSimError as error:
            hint = f"Write *, {allowed}; lists as 1,3, ranges upwards as 1-5, steps as */2."
            raise _refusal(text, f"{name} {quoted(field)} is not valid", hint) from error
    try:
        # Dates that exist at all come within 40 years; cronsim gives up after 50.
        next(CronSim(cron, _reading(0)))
    except (CronSimError, StopIteration) as error:
        hint = "No such date comes: check the day against the month and the weekday."
        raise _refusal(text, "would never fire", hint) from error


def next_after(recurrence: Recurrence, after_ms: int) -> int | None:
    """The first firing strictly after that instant; None when there is none before the year 10000.

    Clock changes are treated as Debian's cron does. Jobs at fixed times run once in any case: right
    after the change if the clocks skip their time, at the first reading if it comes twice. Jobs with
    a star at the beginning of minute or hour run whenever the clock reads so.
    """
    if recurrence.period:
        found: int | None = (after_ms // recurrence.period + 1) * recurrence.period
    else:
        zone = find_zone(recurrence.zone)
        starred = any(field.startswith("*") for field in recurrence.cron.split()[:2])
        try:
            found = (_next_reading if starred else _next_fixed)(recurrence.cron, zone, after_ms)
        except (OverflowError, ValueError):  # beyond the last day that datetime knows
            found = None
    return found if found is not None and found <= MAX_TIME_MS else None


def _next_fixed(cron: str, zone: tzinfo, after_ms: int) -> int | None:
    from cronsim import CronSim

    # `instant_of` keeps the order of readings, so the first that comes later is the next. Earlier
    # ones turn up only in the repeated hour, whose readings it places in the first pass.
    for reading in CronSim(cron, wall_clock(after_ms, zone).replace(tzinfo=None)):
        at = instant_of(reading, zone)
        if at > after_ms:
            return at
    return None


def _next_reading(cron: str, zone: tzinfo, after_ms: int) -> int | None:
    """Walks from one clock change to the next: between two, readings and instants run in step.

    It looks two days ahead at a time; no zone has changed there and back so soon since 1970.
    """
    from cronsim import CronSim

    offset = _offset(after_ms, zone)
    while reading := next(CronSim(cron, _reading(after_ms + offset)), None):
        reading_ms = round(reading.timestamp()) * _SECOND
        at = reading_ms - offset
        seen = min(at, after_ms + 2 * _DAY)
        if _offset(seen, zone) != offset:
            change = _change(offset, after_ms, seen, zone)
            after_ms, offset = change - 1, _offset(change, zone)
        elif seen == at:
            return at
        else:
            # No offset is as long as a day: until a day before it, no clock can show `reading`. And
            # no change beyond the two days can bring back what was shown before them.
            after_ms = max(seen, reading_ms - _DAY)
            offset = _offset(after_ms, zone)
    return None


def _reading(ms: int) -> datetime:
    """A reading of a clock, counted in milliseconds as if the clock showed UTC."""
    from datetime import UTC

    return wall_clock(ms, UTC)


def _offset(ms: int, zone: tzinfo) -> int:
    """How far clocks in the zone are ahead of UTC at that instant."""
    from datetime import timedelta

    return (wall_clock(ms, zone).utcoffset() or timedelta()) // timedelta(milliseconds=1)


def _change(offset: int, low: int, high: int, zone: tzinfo) -> int:
    """The instant after `low` from which that offset no longer holds; at `high` it does not."""
    while high - low > 1:
        middle = (low + high) // 2
        if _offset(middle, zone) == offset:
            low = middle
        else:
            high = middle
    return high


def upcoming(recurrence: Recurrence, after_ms: int, count: int) -> list[int]:
    """The next `count` firings after that instant; fewer where the calendar ends."""
    from itertools import islice

    return list(islice(_firings(recurrence, next_after(recurrence, after_ms), MAX_TIME_MS), count))


def due(recurrence: Recurrence, next_at_ms: int, now_ms: int, catch_up: str) -> Due:
    """The firings to make now, given the stored time of the next one; store `next_at` in its place.

    `skip` makes the last one due if it is on time, `one` makes the last one however late, and `all`
    makes every one, MAX_AT_ONCE in a call: while more are left, `next_at` is not after now.
    """
    from itertools import islice

    if catch_up not in CATCH_UP:
        raise ValueError(f"unknown catch-up rule {catch_up!r}")
    if next_at_ms > now_ms:
        return Due([], 0, next_at_ms)
    if catch_up == "all":
        times = list(islice(_firings(recurrence, next_at_ms, now_ms), MAX_AT_ONCE))
        return Due(times, 0, next_after(recurrence, times[-1]))
    last = _last(recurrence, next_at_ms, now_ms)
    times = [last] if catch_up == "one" or now_ms - last <= GRACE_MS else []
    left_out = _firings(recurrence, next_at_ms, last - len(times))
    return Due(times, sum(1 for _ in islice(left_out, MAX_COUNTED)), next_after(recurrence, now_ms))


def _firings(recurrence: Recurrence, first: int | None, last: int) -> Iterator[int]:
    at = first
    while at is not None and at <= last:
        yield at
        at = next_after(recurrence, at)


def _last(recurrence: Recurrence, firing: int, until: int) -> int:
    """The last firing not after `until`, from one that is known: some 40 steps for any downtime."""
    while firing < until:
        middle = (firing + until) // 2
        found = next_after(recurrence, middle)
        if found is None or found > until:
            until = middle
        else:
            firing = found
    return firing


def in_words(recurrence: Recurrence) -> str:
    """`every day at 03:00 (Europe/Berlin)`; for `@every` without the zone, which plays no part."""
    if recurrence.period:
        return f"every {format_duration(recurrence.period)}"
    import re

    from cronsim import CronSim

    text = CronSim(recurrence.cron, _reading(0)).explain()
    text = text[0].lower() + text[1:]
    text = re.sub(r"^(at \d.*?) (every day(?: in .+)?)$", r"\2 \1", text)
    # cronsim says 22th.
    text = re.sub(r"\b([2-5])([123])th\b", lambda m: m[1] + ("1st", "2nd", "3rd")[int(m[2]) - 1], text)
    return f"{text} ({recurrence.zone})"
