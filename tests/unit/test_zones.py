"""Time zones: named ones, the machine's own, and what a change of the clocks does to a reading."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from queuectl.core.times import describe_when, iso, parse_iso, parse_when
from queuectl.core.zones import find_zone, instant_of, wall_clock
from queuectl.errors import InvalidInput

BERLIN = ZoneInfo("Europe/Berlin")
NEW_YORK = ZoneInfo("America/New_York")
LORD_HOWE = ZoneInfo("Australia/Lord_Howe")
ZONES = st.sampled_from([BERLIN, NEW_YORK, LORD_HOWE, UTC, ZoneInfo("Asia/Kolkata")])


def utc(text: str) -> int:
    """Epoch milliseconds by the standard library's own reading of a UTC time."""
    return round(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


NOW = utc("2026-11-15T21:00")  # a Sunday


def test_zone_in_the_wrong_case_gets_the_right_one_as_a_hint() -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_when("9am europe/berlin", now_ms=NOW)
    assert caught.value.hint == "Did you mean Europe/Berlin?"


@pytest.mark.parametrize("name", ["utc", "GMT", "Z"])
def test_universal_time_needs_no_time_zone_database(name: str) -> None:
    assert find_zone(name) is UTC


# In each zone: an hour (in Lord Howe half of one) that is skipped, and one that comes twice.
CLOCK_CHANGES = [
    (BERLIN, "2026-03-29 01:59:59", "2026-03-29T00:59:59"),
    (BERLIN, "2026-03-29 02:00", "2026-03-29T01:00"),
    (BERLIN, "2026-03-29 02:30", "2026-03-29T01:00"),
    (BERLIN, "2026-03-29 02:59:59.999", "2026-03-29T01:00"),
    (BERLIN, "2026-03-29 03:00", "2026-03-29T01:00"),
    (BERLIN, "2026-10-25 01:59", "2026-10-24T23:59"),
    (BERLIN, "2026-10-25 02:30:00.250", "2026-10-25T00:30:00.250"),
    (BERLIN, "2026-10-25 03:00", "2026-10-25T02:00"),
    (NEW_YORK, "2026-03-08 02:30", "2026-03-08T07:00"),
    (NEW_YORK, "2026-03-08 03:30", "2026-03-08T07:30"),
    (NEW_YORK, "2026-11-01 01:30", "2026-11-01T05:30"),
    (NEW_YORK, "2026-11-01 02:00", "2026-11-01T07:00"),
    (LORD_HOWE, "2026-10-04 02:15", "2026-10-03T15:30"),
    (LORD_HOWE, "2026-10-04 02:30", "2026-10-03T15:30"),
    (LORD_HOWE, "2026-04-05 01:45", "2026-04-04T14:45"),
    (LORD_HOWE, "2026-04-05 02:00", "2026-04-04T15:30"),
    (ZoneInfo("Pacific/Apia"), "2011-12-30 12:00", "2011-12-30T10:00"),  # a day that never was
    (ZoneInfo("America/Sao_Paulo"), "2018-11-04", "2018-11-04T03:00"),  # no midnight that day
]


@pytest.mark.parametrize(("zone", "text", "expected"), CLOCK_CHANGES)
def test_skipped_time_is_the_change_itself_and_repeated_time_the_first(
    zone: tzinfo, text: str, expected: str
) -> None:
    assert iso(parse_when(text, now_ms=NOW, zone=zone)) == iso(utc(expected))
    assert iso(parse_iso(text, what="run_at", zone=zone)) == iso(utc(expected))


@pytest.fixture
def machine_in_new_york(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "America/New_York")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.parametrize(("zone", "text", "expected"), [c for c in CLOCK_CHANGES if c[0] == NEW_YORK])
def test_machine_zone_follows_the_same_rules(
    machine_in_new_york: None, zone: tzinfo, text: str, expected: str
) -> None:
    assert iso(parse_when(text, now_ms=NOW)) == iso(utc(expected))
    assert iso(parse_iso(text, what="run_at")) == iso(utc(expected))


def test_last_day_of_the_calendar_can_be_named_in_the_machine_zone(
    machine_in_new_york: None,
) -> None:
    assert iso(parse_when("9999-12-31 18:59:59", now_ms=NOW)) == "9999-12-31T23:59:59.000Z"
    with pytest.raises(InvalidInput, match="1970 to 9999"):
        parse_when("9999-12-31 19:00", now_ms=NOW)


def test_machine_zone_decides_what_today_is(machine_in_new_york: None) -> None:
    assert iso(parse_when("mon 9am", now_ms=NOW)) == "2026-11-16T14:00:00.000Z"
    assert describe_when(NOW, now_ms=NOW) == "Sun 2026-11-15 16:00 EST (now)"


@given(st.datetimes(datetime(1971, 1, 1), datetime(2100, 1, 1)), ZONES)
@example(datetime(2026, 3, 29, 2, 30), BERLIN)
@example(datetime(2026, 10, 25, 2, 30), BERLIN)
@example(datetime(2026, 10, 4, 2, 0), LORD_HOWE)
def test_instant_is_the_first_whose_clock_has_reached_the_reading(reading: datetime, zone: tzinfo) -> None:
    reading = reading.replace(microsecond=0)
    found = instant_of(reading, zone)
    assert wall_clock(found, zone).replace(tzinfo=None) >= reading
    for seconds in (1, 600, 1800, 3600, 7200):
        earlier = wall_clock(found - seconds * 1000, zone).replace(tzinfo=None)
        assert earlier < reading, timedelta(seconds=seconds)
