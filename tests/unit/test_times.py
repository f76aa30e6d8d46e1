"""Points in time as people write them: accepted, refused, across clock changes, printed."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from queuectl.core.times import MAX_TIME_MS, describe_when, iso, parse_iso, parse_when
from queuectl.core.zones import wall_clock
from queuectl.errors import InvalidInput

BERLIN = ZoneInfo("Europe/Berlin")
NEW_YORK = ZoneInfo("America/New_York")
LORD_HOWE = ZoneInfo("Australia/Lord_Howe")
ZONES = st.sampled_from([BERLIN, NEW_YORK, LORD_HOWE, UTC, ZoneInfo("Asia/Kolkata")])
INSTANTS = st.integers(0, 4_102_444_800_000)  # to the year 2100


def utc(text: str) -> int:
    """Epoch milliseconds by the standard library's own reading of a UTC time."""
    return round(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


NOW = utc("2026-11-15T21:00")  # a Sunday, 22:00 in Berlin


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("now", "2026-11-15T21:00"),
        (" NOW ", "2026-11-15T21:00"),
        ("+5s", "2026-11-15T21:00:05"),
        ("+ 5 s", "2026-11-15T21:00:05"),
        ("+90", "2026-11-15T21:01:30"),
        ("+0", "2026-11-15T21:00"),
        ("in 10m", "2026-11-15T21:10"),
        ("In 1h 30m", "2026-11-15T22:30"),
        ("in 2 days", "2026-11-17T21:00"),
        ("2026-12-01", "2026-11-30T23:00"),
        ("2026-12-01 09:00", "2026-12-01T08:00"),
        ("2026-12-01T09:00", "2026-12-01T08:00"),
        ("2026-12-01t09:00:30", "2026-12-01T08:00:30"),
        ("2026-12-01   9:00", "2026-12-01T08:00"),
        ("2026-12-01 9pm", "2026-12-01T20:00"),
        ("2026-12-01T09:00Z", "2026-12-01T09:00"),
        ("2026-12-01T09:00:00.123z", "2026-12-01T09:00:00.123"),
        ("2026-12-01T09:00:00,5Z", "2026-12-01T09:00:00.500"),
        ("2026-12-01T09:00:00.123999+00:00", "2026-12-01T09:00:00.123"),
        ("2026-12-01T09:00-05:00", "2026-12-01T14:00"),
        ("2026-12-01T09:00+0530", "2026-12-01T03:30"),
        ("2026-12-01 09:00 +02", "2026-12-01T07:00"),
        ("2026-12-01 09:00 UTC", "2026-12-01T09:00"),
        ("2026-12-01 09:00 Europe/Berlin", "2026-12-01T08:00"),
        ("2026-07-01 09:00 Europe/Berlin", "2026-07-01T07:00"),
        ("2026-12-01T09:00 America/Argentina/Buenos_Aires", "2026-12-01T12:00"),
        ("2026-12-01 America/Port-au-Prince", "2026-12-01T05:00"),
        ("2020-02-29", "2020-02-28T23:00"),
        ("1970-01-01T00:00Z", "1970-01-01T00:00"),
        ("9999-12-31T23:59:59Z", "9999-12-31T23:59:59"),
        ("22:01", "2026-11-15T21:01"),
        ("22:00:00.001", "2026-11-15T21:00:00.001"),
        ("22:00", "2026-11-16T21:00"),
        ("17:30", "2026-11-16T16:30"),
        ("9am", "2026-11-16T08:00"),
        ("9 AM", "2026-11-16T08:00"),
        ("9:15pm", "2026-11-16T20:15"),
        ("11pm", "2026-11-15T22:00"),
        ("12am", "2026-11-15T23:00"),
        ("12pm", "2026-11-16T11:00"),
        ("0:00", "2026-11-15T23:00"),
        ("17:30 America/New_York", "2026-11-15T22:30"),
        ("21:30Z", "2026-11-15T21:30"),
        ("today 23:00", "2026-11-15T22:00"),
        ("today 17:00", "2026-11-15T16:00"),
        ("today 7:00 Asia/Tokyo", "2026-11-15T22:00"),
        ("tomorrow", "2026-11-15T23:00"),
        ("Tomorrow 9am", "2026-11-16T08:00"),
        ("tomorrow 17:30 UTC", "2026-11-16T17:30"),
        ("monday", "2026-11-15T23:00"),
        ("mon 9:00", "2026-11-16T08:00"),
        ("Wed 9:15pm", "2026-11-18T20:15"),
        ("thurs 12:00", "2026-11-19T11:00"),
        ("sat", "2026-11-20T23:00"),
        ("sunday", "2026-11-21T23:00"),
        ("sun 23:00", "2026-11-15T22:00"),
        ("sun 22:00", "2026-11-22T21:00"),
        ("sun 21:59", "2026-11-22T20:59"),
    ],
)
def test_reads_a_time(text: str, expected: str) -> None:
    assert iso(parse_when(text, now_ms=NOW, zone=BERLIN)) == iso(utc(expected))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "known form"),
        ("  ", "known form"),
        ("90", "bare number"),
        ("9", "bare number"),
        ("2026", "bare number"),
        ("1794780000", "bare number"),
        ("1.5", "bare number"),
        ("-90", "bare number"),
        ("10m", "known form"),
        ("-10m", "known form"),
        ("10m ago", "known form"),
        ("+", "empty"),
        ("+5x", "unknown unit"),
        ("+-5s", "negative"),
        ("in 101 years", "unknown unit"),
        ("in 40000d", "too long"),
        ("in", "known form"),
        ("soon", "known form"),
        ("noon", "known form"),
        ("yesterday", "known form"),
        ("next monday", "known form"),
        ("monday monday", "known form"),
        ("mo", "known form"),
        ("9:00 tomorrow", "known form"),
        ("today", "needs a time of day"),
        ("tomorrow 9", "an hour alone"),
        ("mon 9", "an hour alone"),
        ("monday9:00", "known form"),
        ("2026-12-01T09", "an hour alone"),
        ("2026-12-01T", "known form"),
        ("2026-12-0109:00", "known form"),
        ("2026-12", "known form"),
        ("2026-1-2", "known form"),
        ("20261201T090000Z", "known form"),
        ("2026-W49-2", "known form"),
        ("2026/12/01", "known form"),
        ("01.12.2026", "known form"),
        ("12/01/2026 09:00", "known form"),
        ("2026-13-01", "month"),
        ("2026-02-29", "day"),
        ("2026-12-01 24:00", "hour"),
        ("2026-12-01 09:60", "minute"),
        ("2026-12-01 09:00:60", "second"),
        ("25:00", "hour"),
        ("0am", "from 1 to 12"),
        ("13pm", "from 1 to 12"),
        ("17:30pm", "from 1 to 12"),
        ("9:5", "known form"),
        ("2026-12-01Z", "known form"),
        ("2026-12-01 +02:00", "known form"),
        ("2026-12-01T09:00+15:00", "no offset"),
        ("2026-12-01T09:00+02:75", "no offset"),
        ("12:30-2026", "no offset"),
        ("2026-12-01T09:00Z Europe/Berlin", "both an offset and a time zone"),
        ("2026-12-01 09:00 CET", "time zone 'CET' is not known"),
        ("2026-12-01 09:00 Europe/Atlantis", "time zone 'Europe/Atlantis' is not known"),
        ("2026-12-01 09:00 Europe/..", "known form"),
        ("2026-12-01 09:00 America/Argentina", "is not known"),
        ("now UTC", "known form"),
        ("+5s UTC", "not a duration"),
        ("0000-01-01", "year"),
        ("0001-01-01", "1970 to 9999"),
        ("1969-12-31", "1970 to 9999"),
        ("1970-01-01 00:00", "1970 to 9999"),
        ("9999-12-31T23:59:59-01:00", "1970 to 9999"),
        ("٢٠٢٦-١٢-٠١", "known form"),
        ("2026-12-01\x0009:00", "known form"),
    ],
)
def test_refuses_what_it_would_have_to_guess(text: str, reason: str) -> None:
    with pytest.raises(InvalidInput, match=reason) as caught:
        parse_when(text, now_ms=NOW, zone=BERLIN)
    assert caught.value.hint


def test_refusal_quotes_the_text_and_lists_the_forms() -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_when("next week", now_ms=NOW, what="run_at")
    assert caught.value.message == "run_at 'next week': not a time in a known form"
    assert "tomorrow 9am" in (caught.value.hint or "")


def test_bare_number_gets_a_hint_of_its_own() -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_when("90", now_ms=NOW)
    assert "+90s" in (caught.value.hint or "")


def test_next_clock_time_skips_a_reading_that_has_passed_once_already() -> None:
    second_half_past_one = utc("2026-11-01T06:30")
    found = parse_when("1:30", now_ms=second_half_past_one, zone=NEW_YORK)
    assert iso(found) == "2026-11-02T06:30:00.000Z"


@pytest.mark.parametrize(
    "value",
    [
        "2026-12-01T09:00:00Z",
        "2026-12-01 10:00",
        "2026-12-01T10:00:00+01:00",
        " 2026-12-01T09:00Z ",
    ],
)
def test_json_field_takes_iso_times(value: str) -> None:
    assert parse_iso(value, what="run_at", zone=BERLIN) == utc("2026-12-01T09:00")


TEXTS_FOR_PEOPLE_ONLY = ["now", "+5s", "tomorrow", "17:30", "2026-12-01 9:00", "2026-12-01 9am"]


@pytest.mark.parametrize(
    "value",
    [
        *TEXTS_FOR_PEOPLE_ONLY,
        "2026-12-01 09:00 Europe/Berlin",
        "2026-02-30",
        "1969-01-01",
        *("", None, 5, 1.5, True, [], {"a": 1}),
    ],
)
def test_json_field_takes_nothing_else(value: object) -> None:
    with pytest.raises(InvalidInput, match=r"^run_at ") as caught:
        parse_iso(value, what="run_at", zone=BERLIN)
    assert "ISO 8601" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("ms", "zone", "text"),
    [
        (utc("2026-11-16T10:00"), BERLIN, "Mon 2026-11-16 11:00 CET (in 13h)"),
        (NOW - 120_000, BERLIN, "Sun 2026-11-15 21:58 CET (2m ago)"),
        (NOW + 5_400, UTC, "Sun 2026-11-15 21:00:05 UTC (in 5s)"),
        (NOW + 599_980, UTC, "Sun 2026-11-15 21:09:59 UTC (in 10m)"),
        (NOW - 400, UTC, "Sun 2026-11-15 20:59:59 UTC (now)"),
        (utc("2027-07-01T00:00"), NEW_YORK, "Wed 2027-06-30 20:00 EDT (in 227d)"),
        (NOW, timezone(timedelta(hours=2)), "Sun 2026-11-15 23:00 UTC+02:00 (now)"),
        (MAX_TIME_MS, BERLIN, "Fri 9999-12-31 23:59:59 UTC (in 2912124d)"),
    ],
)
def test_describes_a_time_so_that_it_can_be_checked(ms: int, zone: tzinfo, text: str) -> None:
    assert describe_when(ms, now_ms=NOW, zone=zone) == text


def test_iso_of_nothing_is_nothing() -> None:
    assert iso(None) is None


@given(st.integers(-62_135_596_800_000, MAX_TIME_MS))
@example(0)
@example(-1)
@example(MAX_TIME_MS)
@example(951_782_400_000)  # 2000-02-29
def test_iso_prints_what_the_standard_library_prints(ms: int) -> None:
    moment = datetime(1970, 1, 1) + timedelta(milliseconds=ms)
    assert iso(ms) == moment.isoformat(timespec="milliseconds") + "Z"


@given(st.integers(0, MAX_TIME_MS), ZONES)
def test_iso_reads_back_the_same_in_every_zone(ms: int, zone: tzinfo) -> None:
    text = iso(ms)
    assert text is not None
    assert parse_when(text, now_ms=NOW, zone=zone) == parse_iso(text, what="t", zone=zone) == ms


@given(INSTANTS, ZONES, st.times(), st.sampled_from(["", "mon ", "wed ", "sunday "]))
def test_next_time_lies_strictly_ahead_and_within_its_period(
    now: int, zone: tzinfo, clock: object, day: str
) -> None:
    found = parse_when(f"{day}{clock}", now_ms=now, zone=zone)
    days = 7 if day else 1
    assert now < found <= now + days * 86_400_000 + 3_600_000
    if day:
        assert wall_clock(found, zone).strftime("%A").lower().startswith(day[:3])


@settings(deadline=None)  # the first unknown zone reads the whole list of zones
@given(st.text() | st.text("0123456789-:TZ+ apmondy/", max_size=40), INSTANTS)
def test_any_text_is_read_or_refused_and_nothing_else(text: str, now: int) -> None:
    try:
        ms = parse_when(text, now_ms=now, zone=BERLIN)
    except InvalidInput:
        return
    assert 0 <= ms <= MAX_TIME_MS


def test_printing_times_does_not_load_the_calendar() -> None:
    program = (
        "import sys; before = set(sys.modules)\n"
        "from queuectl.core.times import iso; iso(0)\n"
        "heavy = {'datetime', 'zoneinfo', 'typing', 'dataclasses', 'logging', 'pathlib'}\n"
        "print(heavy & (set(sys.modules) - before))"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
