"""Time zones: what a clock on the wall shows at an instant, and the instant of such a reading.

Reading text is left to `times`. A zone of None is the machine's own, here and everywhere.
"""

from __future__ import annotations

from functools import lru_cache

from queuectl.errors import InvalidInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime, tzinfo

__all__ = ["find_zone", "instant_of", "wall_clock"]


def find_zone(name: str) -> tzinfo:
    """The zone of that name: `UTC`, `GMT`, or `Area/City` as in the IANA database.

    Abbreviations are refused: IST has three meanings, and "CET" in July would mean summer time.
    """
    from datetime import UTC

    if name.upper() in ("UTC", "GMT", "Z"):
        return UTC
    from zoneinfo import ZoneInfo

    try:
        if "/" in name:
            return ZoneInfo(name)
    except (LookupError, ValueError, OSError) as error:
        raise _unknown(name) from error
    raise _unknown(name)


def _unknown(name: str) -> InvalidInput:
    known = _known()
    hint = "Write a zone as Area/City (Europe/Berlin), UTC, or an offset (+01:00)."
    if not known:
        hint = "This machine has no time zone database: install the Python package tzdata."
    elif "/" in name and name.lower() in known:
        hint = f"Did you mean {known[name.lower()]}?"
    return InvalidInput(f"time zone {name[:64]!r} is not known", hint)


@lru_cache(maxsize=1)  # it opens some 600 files: too much work for each of somebody's thousand mistakes
def _known() -> dict[str, str]:
    """The names of all zones, by how they look in small letters."""
    from zoneinfo import available_timezones

    return {key.lower(): key for key in available_timezones()}


def wall_clock(ms: int, zone: tzinfo | None) -> datetime:
    """Date and time in the zone at that instant, to the second, aware of its zone."""
    from datetime import UTC, datetime

    return datetime.fromtimestamp(ms // 1000, UTC).astimezone(zone)


def instant_of(wall: datetime, zone: tzinfo | None) -> int:
    """Epoch milliseconds at which clocks in the zone show `wall` (which has no zone itself).

    A reading that occurs twice (clocks set back) means the first; one that never occurs (clocks
    set forward) means the moment of the change. Raises ValueError, OverflowError or OSError
    for what the calendar or the machine cannot express.
    """
    if wall.year == 9999:
        # Near its end datetime would look into the year 10000; the calendar repeats every 400.
        return instant_of(wall.replace(year=9599), zone) + 146_097 * 86_400_000
    whole = wall.replace(microsecond=0)
    # Without a zone, timestamp() takes the machine's; fold picks the offset before or after
    # a change, and the two readings come in the wrong order only when the clocks skip `wall`.
    before, after = (round(whole.replace(tzinfo=zone, fold=f).timestamp()) for f in (0, 1))
    if before <= after:
        return before * 1000 + wall.microsecond // 1000
    low, high = after, before
    while high - low > 1:
        middle = (low + high) // 2
        if wall_clock(middle * 1000, zone).replace(tzinfo=None) > whole:
            high = middle
        else:
            low = middle
    return high * 1000
