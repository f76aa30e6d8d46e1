"""Recurring schedules: what is accepted, when it fires across clock changes, and after downtime."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queuectl.core.recurrence import (
    CATCH_UP,
    GRACE_MS,
    MAX_AT_ONCE,
    MAX_COUNTED,
    RECURRENCE_FORMS,
    due,
    in_words,
    next_after,
    parse_recurrence,
    upcoming,
)
from queuectl.core.times import MAX_TIME_MS, iso
from queuectl.core.zones import find_zone, wall_clock
from queuectl.errors import InvalidInput

MINUTE = 60_000
HOUR = 60 * MINUTE
DAY = 24 * HOUR
CENTURY = 36_525 * DAY

BERLIN = "Europe/Berlin"
NEW_YORK = "America/New_York"
LORD_HOWE = "Australia/Lord_Howe"


def utc(text: str) -> int:
    """Epoch milliseconds by the standard library's own reading of a UTC time."""
    return round(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


def first_firings(text: str, zone: str, after: str, count: int) -> list[str]:
    times = upcoming(parse_recurrence(text, zone), utc(after), count)
    return [(iso(at) or "").removesuffix(":00.000Z") for at in times]


# What is accepted


@pytest.mark.parametrize(
    ("text", "normalised"),
    [
        ("0 3 * * *", "0 3 * * *"),
        ("  0\t3  * * *\n", "0 3 * * *"),
        ("0 9-17/2 1,15 jan-mar mon-fri", "0 9-17/2 1,15 JAN-MAR MON-FRI"),
        ("0 0 l * *", "0 0 L * *"),
        ("0 0 lw * *", "0 0 LW * *"),
        ("0 0 * * 5L", "0 0 * * 5L"),
        ("0 0 * * mon#2", "0 0 * * MON#2"),
        ("0 0 29 2 *", "0 0 29 2 *"),
        ("0 0 * 2 mon#5", "0 0 * 2 MON#5"),
        ("@Daily", "@daily"),
        ("@every 600s", "@every 10m"),
        ("@EVERY 1h 30m", "@every 1h30m"),
        ("@every 90", "@every 1m30s"),
        ("@every 1s", "@every 1s"),
        ("@every 1.5m", "@every 1m30s"),
    ],
)
def test_reads_a_schedule_and_writes_it_in_one_way(text: str, normalised: str) -> None:
    assert parse_recurrence(text, "UTC").text == normalised
    assert parse_recurrence(normalised, "UTC").text == normalised


@pytest.mark.parametrize(
    ("text", "reason", "hint"),
    [
        ("", "empty", 'like "0 3 * * *"'),
        (" \n", "empty", "@daily"),
        (None, "not a text", "@daily"),
        (5, "not a text", "@daily"),
        ("0 " * 300, "longer than 500", "@daily"),
        ("3", "not 1", "five cron fields"),
        ("0 3 * *", "not 4", "five cron fields"),
        ("0 0 3 * * *", "not 6", "@every 30s"),
        ("0 3 * * * backup.sh --all", "not 7", "commands have no place"),
        ("60 * * * *", "minute '60'", "0-59"),
        ("*/0 * * * *", "minute '*/0'", "steps as */2"),
        ("-5 * * * *", "minute '-5'", "0-59"),
        ("0 24 * * *", "hour '24'", "0-23"),
        ("0 22-4 * * *", "hour '22-4'", "ranges upwards"),
        ("0 3am * * *", "hour '3AM'", "0-23"),
        ("0 0 0 * *", "day '0'", "1-31"),
        ("0 0 32 * *", "day '32'", "1-31"),
        ("0 0 * 13 *", "month '13'", "JAN-DEC"),
        ("0 0 * sept *", "month 'SEPT'", "JAN-DEC"),
        ("0 0 * * 8", "weekday '8'", "SUN-SAT"),
        ("0 0 * * ?", "weekday '?'", "SUN-SAT"),
        ("0 0 * * fri-mon", "weekday 'FRI-MON'", "ranges upwards"),
        ("0 0 * * mon#6", "weekday 'MON#6'", "MON#1"),
        ("0 0 31 2 *", "would never fire", "the day against the month"),
        ("0 0 30 feb *", "would never fire", "the day against the month"),
        ("0 0 31 4,6,9,11 *", "would never fire", "the day against the month"),
        ("0 0 */20 * 1L", "would never fire", "the weekday"),
        ("@reboot", "no such macro", "@hourly"),
        ("@", "no such macro", "@hourly"),
        ("@every10m", "no such macro", "@every 10m"),
        ("@daily 3", "nothing may follow @daily", "@daily"),
        ("@every", "empty", "@every 30s"),
        ("@every day", "not a duration", "@every 30s"),
        ("@every 0", "whole seconds", "@every 30s"),
        ("@every 500ms", "whole seconds", "@every 30s"),
        ("@every 1.5s", "whole seconds", "@every 30s"),
        ("@every -5m", "negative", "@every 30s"),
        ("@every 101y", "unknown unit", "@every 30s"),
        ("@every 40000d", "too long", "@every 30s"),
    ],
)
def test_refuses_what_is_no_schedule_and_says_what_to_write(text: object, reason: str, hint: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_recurrence(text, "UTC")
    assert refused.value.message.startswith("schedule ")
    assert reason in refused.value.message
    assert hint in (refused.value.hint or "")


def test_the_hint_names_only_forms_that_are_accepted() -> None:
    for form in ("0 3 * * *", "@hourly", "@daily", "@weekly", "@monthly", "@yearly", "@every 10m"):
        assert form in RECURRENCE_FORMS
        parse_recurrence(form, "UTC")


@pytest.mark.parametrize(
    ("zone", "name"), [("utc", "UTC"), ("GMT", "UTC"), ("Etc/UTC", "Etc/UTC"), (BERLIN, BERLIN)]
)
def test_keeps_the_name_of_the_zone(zone: str, name: str) -> None:
    assert parse_recurrence("@daily", zone).zone == name


@pytest.mark.parametrize(
    ("zone", "hint"),
    [("Europe/berlin", "Did you mean Europe/Berlin"), ("CET", "Area/City"), ("+01:00", "clock changes")],
)
def test_refuses_a_zone_that_is_no_place(zone: str, hint: str) -> None:
    with pytest.raises(InvalidInput, match="time zone") as refused:
        parse_recurrence("@daily", zone)
    assert hint in (refused.value.hint or "")


# The calendar


@pytest.mark.parametrize(
    ("text", "after", "expected"),
    [
        ("* * * * *", "2026-11-15T21:00", ["2026-11-15T21:01", "2026-11-15T21:02"]),
        ("* * * * *", "2026-11-15T20:59:59.999", ["2026-11-15T21:00"]),
        ("* * * * *", "2026-11-15T21:00:00.001", ["2026-11-15T21:01"]),
        ("0 3 * * *", "2026-11-15T03:00", ["2026-11-16T03:00"]),
        ("0 3 * * *", "2026-11-15T02:59:59.999", ["2026-11-15T03:00"]),
        ("59 23 31 12 *", "2026-12-31T23:58", ["2026-12-31T23:59", "2027-12-31T23:59"]),
        ("*/30 * * * *", "2026-12-31T23:15", ["2026-12-31T23:30", "2027-01-01T00:00"]),
        ("0 0 29 2 *", "2026-11-15", ["2028-02-29T00:00", "2032-02-29T00:00"]),
        ("0 0 29 2 *", "2096-03-01", ["2104-02-29T00:00"]),
        ("*/30 23 29 2 *", "2026-11-15", ["2028-02-29T23:00", "2028-02-29T23:30", "2032-02-29T23:00"]),
        ("0 0 31 * *", "2026-01-31", ["2026-03-31T00:00", "2026-05-31T00:00"]),
        ("0 0 L * *", "2027-12-31", ["2028-01-31T00:00", "2028-02-29T00:00", "2028-03-31T00:00"]),
        ("0 0 LW * *", "2026-01-01", ["2026-01-30T00:00", "2026-02-27T00:00"]),
        ("0 0 * * 5L", "2026-11-15", ["2026-11-27T00:00", "2026-12-25T00:00"]),
        ("0 0 * * MON#2", "2026-11-15", ["2026-12-14T00:00", "2027-01-11T00:00"]),
        ("0 0 * 2 MON#5", "2026-11-15", ["2044-02-29T00:00", "2072-02-29T00:00", "2112-02-29T00:00"]),
        ("0 0 13 * FRI", "2026-11-15", ["2026-11-20T00:00", "2026-11-27T00:00", "2026-12-04T00:00"]),
        ("@hourly", "2026-11-15T21:00", ["2026-11-15T22:00"]),
        ("@daily", "2026-11-15T21:00", ["2026-11-16T00:00"]),
        ("@midnight", "2026-11-15T21:00", ["2026-11-16T00:00"]),
        ("@weekly", "2026-11-15T21:00", ["2026-11-22T00:00"]),
        ("@monthly", "2026-11-15T21:00", ["2026-12-01T00:00"]),
        ("@yearly", "2026-11-15T21:00", ["2027-01-01T00:00"]),
        ("@annually", "2026-11-15T21:00", ["2027-01-01T00:00"]),
        ("@every 10m", "2026-11-15T21:00", ["2026-11-15T21:10", "2026-11-15T21:20"]),
        ("@every 10m", "2026-11-15T21:09:59.999", ["2026-11-15T21:10"]),
        ("@every 1d", "2026-11-15T21:00", ["2026-11-16T00:00"]),
        ("@every 1w", "2026-11-15T21:00", ["2026-11-19T00:00"]),
    ],
)
def test_fires_by_the_calendar(text: str, after: str, expected: list[str]) -> None:
    assert first_firings(text, "UTC", after, len(expected)) == expected


@pytest.mark.parametrize(
    ("text", "zone", "after", "expected"),
    [
        ("0 0 1 1 *", NEW_YORK, "2026-11-15", "2027-01-01T05:00"),
        ("0 0 1 1 *", LORD_HOWE, "2026-11-15", "2026-12-31T13:00"),
        ("0 3 * * *", BERLIN, "2026-11-15", "2026-11-15T02:00"),
        ("0 3 * * *", BERLIN, "2026-07-15", "2026-07-15T01:00"),
    ],
)
def test_fires_by_the_clock_of_its_zone(text: str, zone: str, after: str, expected: str) -> None:
    assert first_firings(text, zone, after, 1) == [expected]


@pytest.mark.parametrize("zone", ["UTC", BERLIN, NEW_YORK])
@pytest.mark.parametrize("text", ["0 0 29 2 *", "*/5 * 29 2 *", "* * * * *", "0 3 * * *", "@every 100s"])
def test_ends_with_the_calendar(text: str, zone: str) -> None:
    schedule = parse_recurrence(text, zone)
    assert next_after(schedule, MAX_TIME_MS - 1) is None
    assert next_after(schedule, MAX_TIME_MS) is None
    assert next_after(schedule, MAX_TIME_MS + 5 * DAY) is None
    assert all(at <= MAX_TIME_MS for at in upcoming(schedule, MAX_TIME_MS - 2 * DAY, 5_000))


# Clock changes


@pytest.mark.parametrize(
    ("text", "after", "expected"),
    [
        # 2026-03-29: 02:00 becomes 03:00 at 01:00 UTC.
        ("30 2 * * *", "2026-03-28T12:00", ["2026-03-29T01:00", "2026-03-30T00:30"]),
        ("0,30 2 * * *", "2026-03-28T12:00", ["2026-03-29T01:00", "2026-03-30T00:00"]),
        ("0,30 2,3 * * *", "2026-03-28T12:00", ["2026-03-29T01:00", "2026-03-29T01:30", "2026-03-30T00:00"]),
        ("30 2 * * *", "2026-03-29T01:00", ["2026-03-30T00:30"]),
        ("30 1,3 * * *", "2026-03-28T12:00", ["2026-03-29T00:30", "2026-03-29T01:30"]),
        ("*/30 2 * * *", "2026-03-28T12:00", ["2026-03-30T00:00", "2026-03-30T00:30"]),
        ("*/30 * * * *", "2026-03-29T00:00", ["2026-03-29T00:30", "2026-03-29T01:00", "2026-03-29T01:30"]),
        ("@hourly", "2026-03-28T23:30", ["2026-03-29T00:00", "2026-03-29T01:00", "2026-03-29T02:00"]),
        ("0 */2 * * *", "2026-03-28T22:30", ["2026-03-28T23:00", "2026-03-29T02:00"]),
        # 2026-10-25: 03:00 becomes 02:00 at 01:00 UTC.
        ("30 2 * * *", "2026-10-24T12:00", ["2026-10-25T00:30", "2026-10-26T01:30"]),
        ("30 2 * * *", "2026-10-25T01:10", ["2026-10-26T01:30"]),
        ("0 2,3 * * *", "2026-10-24T12:00", ["2026-10-25T00:00", "2026-10-25T02:00", "2026-10-26T01:00"]),
        ("0 0-23 * * *", "2026-10-24T22:30", ["2026-10-24T23:00", "2026-10-25T00:00", "2026-10-25T02:00"]),
        (
            "*/30 2 * * *",
            "2026-10-24T12:00",
            [
                "2026-10-25T00:00",
                "2026-10-25T00:30",
                "2026-10-25T01:00",
                "2026-10-25T01:30",
                "2026-10-26T01:00",
            ],
        ),
        ("@hourly", "2026-10-24T23:30", ["2026-10-25T00:00", "2026-10-25T01:00", "2026-10-25T02:00"]),
        ("0 */2 * * *", "2026-10-24T21:30", ["2026-10-24T22:00", "2026-10-25T00:00", "2026-10-25T01:00"]),
    ],
)
def test_clock_changes_in_berlin(text: str, after: str, expected: list[str]) -> None:
    assert first_firings(text, BERLIN, after, len(expected)) == expected


@pytest.mark.parametrize(
    ("text", "after", "expected"),
    [
        # 2026-03-08: 02:00 becomes 03:00 at 07:00 UTC.
        ("30 2 * * *", "2026-03-07T12:00", ["2026-03-08T07:00", "2026-03-09T06:30"]),
        ("*/30 2 * * *", "2026-03-07T12:00", ["2026-03-09T06:00"]),
        ("*/30 * * * *", "2026-03-08T06:00", ["2026-03-08T06:30", "2026-03-08T07:00", "2026-03-08T07:30"]),
        ("30 2 * * SUN", "2026-03-07T12:00", ["2026-03-08T07:00", "2026-03-15T06:30"]),
        # 2026-11-01: 02:00 becomes 01:00 at 06:00 UTC.
        ("30 1 * * *", "2026-10-31T12:00", ["2026-11-01T05:30", "2026-11-02T06:30"]),
        ("30 1 * * *", "2026-11-01T06:00", ["2026-11-02T06:30"]),
        ("30 * * * *", "2026-11-01T05:00", ["2026-11-01T05:30", "2026-11-01T06:30", "2026-11-01T07:30"]),
        ("0 2 * * *", "2026-10-31T12:00", ["2026-11-01T07:00", "2026-11-02T07:00"]),
    ],
)
def test_clock_changes_in_new_york(text: str, after: str, expected: list[str]) -> None:
    assert first_firings(text, NEW_YORK, after, len(expected)) == expected


@pytest.mark.parametrize(
    ("text", "after", "expected"),
    [
        # 2026-10-04: 02:00 becomes 02:30 at 15:30 UTC of the day before.
        ("15 2 * * *", "2026-10-03T12:00", ["2026-10-03T15:30", "2026-10-04T15:15"]),
        ("15,30 2 * * *", "2026-10-03T12:00", ["2026-10-03T15:30", "2026-10-04T15:15"]),
        ("45 2 * * *", "2026-10-03T12:00", ["2026-10-03T15:45", "2026-10-04T15:45"]),
        ("@hourly", "2026-10-03T14:00", ["2026-10-03T14:30", "2026-10-03T16:00", "2026-10-03T17:00"]),
        ("*/30 * * * *", "2026-10-03T14:45", ["2026-10-03T15:00", "2026-10-03T15:30", "2026-10-03T16:00"]),
        ("*/15 3 * * *", "2026-10-03T12:00", ["2026-10-03T16:00", "2026-10-03T16:15", "2026-10-03T16:30"]),
        ("0 */3 * * *", "2026-10-03T13:00", ["2026-10-03T13:30", "2026-10-03T16:00", "2026-10-03T19:00"]),
        # 2026-04-05: 02:00 becomes 01:30 at 15:00 UTC of the day before.
        ("45 1 * * *", "2026-04-04T12:00", ["2026-04-04T14:45", "2026-04-05T15:15"]),
        ("45 1 * * *", "2026-04-04T15:00", ["2026-04-05T15:15"]),
        ("@hourly", "2026-04-04T13:30", ["2026-04-04T14:00", "2026-04-04T15:30", "2026-04-04T16:30"]),
        ("*/15 3 * * *", "2026-04-04T12:00", ["2026-04-04T16:30", "2026-04-04T16:45", "2026-04-04T17:00"]),
        ("0 */2 * * *", "2026-04-04T12:00", ["2026-04-04T13:00", "2026-04-04T15:30", "2026-04-04T17:30"]),
        (
            "*/30 1 * * *",
            "2026-04-04T12:00",
            ["2026-04-04T14:00", "2026-04-04T14:30", "2026-04-04T15:00", "2026-04-05T14:30"],
        ),
    ],
)
def test_clock_changes_of_half_an_hour(text: str, after: str, expected: list[str]) -> None:
    assert first_firings(text, LORD_HOWE, after, len(expected)) == expected


@pytest.mark.parametrize("zone", [BERLIN, NEW_YORK, LORD_HOWE])
def test_every_keeps_its_pace_through_clock_changes(zone: str) -> None:
    times = upcoming(parse_recurrence("@every 7h", zone), utc("2026-01-01"), 1_300)
    assert {later - earlier for earlier, later in pairwise(times)} == {7 * HOUR}


CHANGES = [
    (BERLIN, "2026-03-29T01:00"),
    (BERLIN, "2026-10-25T01:00"),
    (NEW_YORK, "2026-03-08T07:00"),
    (NEW_YORK, "2026-11-01T06:00"),
    (LORD_HOWE, "2026-10-03T15:30"),
    (LORD_HOWE, "2026-04-04T15:00"),
    ("America/Havana", "2026-03-08T05:00"),  # midnight is skipped
    ("America/Santiago", "2025-04-06T03:00"),  # midnight becomes 23:00 of the day before
    ("America/St_Johns", "2010-11-07T02:31"),  # 00:01 becomes 23:01 of the day before
    ("Pacific/Apia", "2011-12-30T10:00"),  # a whole day is skipped
]
# Each field beside what it means, so that the test below needs no reader of cron.
MINUTES = [
    ("*", set(range(60))),
    ("*/7", set(range(0, 60, 7))),
    ("0", {0}),
    ("30", {30}),
    ("1,59", {1, 59}),
    ("15-45/15", {15, 30, 45}),
]
HOURS = [
    ("*", set(range(24))),
    ("*/2", set(range(0, 24, 2))),
    ("0-23", set(range(24))),
    ("0", {0}),
    ("1,2", {1, 2}),
    ("3", {3}),
    ("23", {23}),
]
WEEKDAYS = [("*", set(range(7))), ("0", {6}), ("6", {5}), ("1-5", set(range(5)))]


def first_readings(start: int, end: int, zone: str) -> list[tuple[int, list[datetime], datetime]]:
    """Minute by minute: the instant, the readings first reached at it (skipped ones too), the reading."""
    found = []
    reached = wall_clock(start, find_zone(zone)).replace(tzinfo=None)
    for at in range(start + MINUTE, end, MINUTE):
        reading = wall_clock(at, find_zone(zone)).replace(tzinfo=None, fold=0)
        fresh = []
        while reached < reading:
            reached += timedelta(minutes=1)
            fresh.append(reached)
        found.append((at, fresh, reading))
    return found


@settings(max_examples=40, deadline=None)
@given(
    change=st.sampled_from(CHANGES),
    minutes=st.sampled_from(MINUTES),
    hours=st.sampled_from(HOURS),
    weekdays=st.sampled_from(WEEKDAYS),
    asked=st.integers(-10 * HOUR, 10 * HOUR),
)
def test_fires_when_a_watcher_of_the_clock_would(
    change: tuple[str, str],
    minutes: tuple[str, set[int]],
    hours: tuple[str, set[int]],
    weekdays: tuple[str, set[int]],
    asked: int,
) -> None:
    def matches(reading: datetime) -> bool:
        return reading.minute in minutes[1] and reading.hour in hours[1] and reading.weekday() in weekdays[1]

    zone, instant = change
    start, end = utc(instant) - 13 * HOUR, utc(instant) + 13 * HOUR
    starred = "*" in minutes[0] + hours[0]
    expected = [
        at
        for at, fresh, reading in first_readings(start, end, zone)
        if (matches(reading) if starred else any(matches(each) for each in fresh))
    ]
    schedule = parse_recurrence(f"{minutes[0]} {hours[0]} * * {weekdays[0]}", zone)
    times = upcoming(schedule, start, len(expected) + 1)
    assert times[:-1] == expected
    assert times[-1] >= end
    after = utc(instant) + asked
    assert next_after(schedule, after) == next(at for at in times if at > after)


@pytest.mark.parametrize(("zone", "instant"), CHANGES)
def test_the_clocks_do_change_at_these_instants(zone: str, instant: str) -> None:
    before, after = (wall_clock(utc(instant) + ms, find_zone(zone)).utcoffset() for ms in (-1, 0))
    assert before != after


# Order and downtime

SCHEDULES = st.builds(
    parse_recurrence,
    st.sampled_from(
        [
            "* * * * *",
            "*/7 2 * * *",
            "30 2 * * *",
            "0,30 1,2,3 * * *",
            "0 */3 * * *",
            "0 0 L * *",
            "0 0 29 2 *",
            "15 12 * * MON#1",
            "@hourly",
            "@weekly",
            "@every 7s",
            "@every 36h",
        ]
    ),
    st.sampled_from(["UTC", BERLIN, NEW_YORK, LORD_HOWE]),
)
INSTANTS = st.integers(utc("2026-01-01"), utc("2028-01-01"))


@settings(max_examples=100, deadline=None)
@given(SCHEDULES, INSTANTS, st.integers(0, 3 * DAY))
def test_firings_only_go_forward_and_do_not_depend_on_where_one_asks(schedule, start, ahead) -> None:
    times = upcoming(schedule, start, 30)
    assert times[0] > start
    assert all(earlier < later for earlier, later in pairwise(times))
    between = min(start + ahead, times[-1] - 1)
    assert next_after(schedule, between) == next(at for at in times if at > between)


@settings(max_examples=100, deadline=None)
@given(
    schedule=SCHEDULES,
    start=INSTANTS,
    steps=st.lists(
        st.one_of(
            st.integers(-HOUR, HOUR), st.integers(0, 20 * DAY), st.sampled_from([0, 1, GRACE_MS, MINUTE])
        ),
        max_size=12,
    ),
    rules=st.lists(st.sampled_from(CATCH_UP), min_size=12, max_size=12),
)
def test_no_firing_is_made_twice_however_often_one_asks(schedule, start, steps, rules) -> None:
    now, next_at, made = start, next_after(schedule, start), []
    for step, rule in zip(steps, rules, strict=False):
        now += step
        result = due(schedule, next_at, now, rule)
        assert all(next_at <= at <= now for at in result.times)
        assert len(result.times) <= MAX_AT_ONCE
        made += result.times
        next_at = result.next_at
        assert next_at > now or rule == "all"
    assert all(earlier < later for earlier, later in pairwise(made))
    assert not made or next_at > made[-1]


@settings(max_examples=50, deadline=None)
@given(SCHEDULES, INSTANTS, st.lists(st.integers(0, 2 * DAY), max_size=8))
def test_all_leaves_nothing_out(schedule, start, steps) -> None:
    now, next_at, made = start, next_after(schedule, start), []
    for step in steps:
        now += step
        result = due(schedule, next_at, now, "all")
        made += result.times
        next_at = result.next_at
    assert made == upcoming(schedule, start, len(made))
    assert next_at == next_after(schedule, made[-1] if made else start)


@pytest.mark.parametrize("rule", CATCH_UP)
def test_nothing_is_due_before_its_time(rule: str) -> None:
    result = due(parse_recurrence("@hourly", "UTC"), HOUR, HOUR - 1, rule)
    assert (result.times, result.missed, result.next_at) == ([], 0, HOUR)


@pytest.mark.parametrize("rule", CATCH_UP)
@pytest.mark.parametrize("late", [0, 1, GRACE_MS])
def test_a_firing_on_time_is_made_under_every_rule(rule: str, late: int) -> None:
    result = due(parse_recurrence("@hourly", "UTC"), HOUR, HOUR + late, rule)
    assert (result.times, result.missed, result.next_at) == ([HOUR], 0, 2 * HOUR)


@pytest.mark.parametrize(
    ("rule", "times", "missed"), [("skip", [], 1), ("one", [HOUR], 0), ("all", [HOUR], 0)]
)
def test_a_late_firing_is_left_out_by_skip_alone(rule: str, times: list[int], missed: int) -> None:
    result = due(parse_recurrence("@hourly", "UTC"), HOUR, HOUR + GRACE_MS + 1, rule)
    assert (result.times, result.missed, result.next_at) == (times, missed, 2 * HOUR)


@pytest.mark.parametrize(
    ("rule", "woke", "made", "missed"),
    [
        ("skip", "2026-11-16T00:00:30", 1, 24),
        ("skip", "2026-11-16T00:30", 0, 25),
        ("one", "2026-11-16T00:00:30", 1, 24),
        ("one", "2026-11-16T00:30", 1, 24),
        ("all", "2026-11-16T00:00:30", 25, 0),
        ("all", "2026-11-16T00:30", 25, 0),
    ],
)
def test_a_scheduler_that_was_down_for_a_day(rule: str, woke: str, made: int, missed: int) -> None:
    first, last = utc("2026-11-15"), utc("2026-11-16")
    result = due(parse_recurrence("@hourly", "UTC"), first, utc(woke), rule)
    assert result.times == list(range(first, last + 1, HOUR))[25 - made :]
    assert (result.missed, result.next_at) == (missed, last + HOUR)


def test_a_day_of_downtime_with_a_clock_change_in_it() -> None:
    schedule = parse_recurrence("30 2 * * *", BERLIN)
    result = due(schedule, utc("2026-03-28T01:30"), utc("2026-03-29T12:00"), "all")
    assert result.times == [utc("2026-03-28T01:30"), utc("2026-03-29T01:00")]
    assert result.next_at == utc("2026-03-30T00:30")
    result = due(schedule, utc("2026-10-25T00:30"), utc("2026-10-25T01:10"), "one")
    assert (result.times, result.missed) == ([utc("2026-10-25T00:30")], 0)
    assert result.next_at == utc("2026-10-26T01:30")


def test_all_comes_in_portions() -> None:
    schedule = parse_recurrence("* * * * *", BERLIN)
    first = next_at = utc("2026-11-15")
    now = first + 2_500 * MINUTE
    sizes, made = [], []
    for _ in range(4):
        result = due(schedule, next_at, now, "all")
        sizes.append(len(result.times))
        made += result.times
        assert result.missed == 0
        next_at = result.next_at or 0
    assert sizes == [MAX_AT_ONCE, MAX_AT_ONCE, 501, 0]
    assert made == list(range(first, now + 1, MINUTE))
    assert next_at == now + MINUTE


# Walking through all of these firings would run into the time limit of a test.
@pytest.mark.parametrize("rule", ["skip", "one"])
@pytest.mark.parametrize("text", ["* * * * *", "0-59 0-23 * * *", "@every 1s"])
def test_a_century_of_downtime_is_no_work(text: str, rule: str) -> None:
    first = utc("2026-11-15")
    result = due(parse_recurrence(text, BERLIN), first, first + CENTURY, rule)
    assert (result.times, result.missed) == ([first + CENTURY], MAX_COUNTED)
    assert result.next_at == first + CENTURY + (1_000 if text.startswith("@") else MINUTE)


def test_the_last_firing_is_found_in_a_sparse_schedule() -> None:
    schedule = parse_recurrence("*/20 5 29 2 *", NEW_YORK)
    result = due(schedule, utc("2028-02-29T10:00"), utc("2040-02-29T10:25"), "one")
    assert (result.times, result.missed) == ([utc("2040-02-29T10:20")], 10)
    assert result.next_at == utc("2040-02-29T10:40")


def test_an_unknown_rule_is_an_error() -> None:
    with pytest.raises(ValueError, match="catch-up rule 'twice'"):
        due(parse_recurrence("@hourly", "UTC"), HOUR, 0, "twice")


# In words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("0 3 * * *", "every day at 03:00 (Europe/Berlin)"),
        ("0 9,17 * * *", "every day at 09:00 and 17:00 (Europe/Berlin)"),
        ("0 0 * jan *", "every day in January at 00:00 (Europe/Berlin)"),
        ("* * * * *", "every minute (Europe/Berlin)"),
        ("0 0 5-20 * *", "at 00:00 on every day of month from 5 through 20 (Europe/Berlin)"),
        ("30 2 * * sun", "at 02:30 on Sunday (Europe/Berlin)"),
        ("0 0 12 * *", "at 00:00 on the 12th day of every month (Europe/Berlin)"),
        ("0 0 22 * *", "at 00:00 on the 22nd day of every month (Europe/Berlin)"),
        ("0 0 21,31 * *", "at 00:00 on the 21st and the 31st day of month (Europe/Berlin)"),
        ("0 0 L * *", "at 00:00 on the last day of every month (Europe/Berlin)"),
        ("@hourly", "at the start of every hour (Europe/Berlin)"),
        ("@daily", "every day at 00:00 (Europe/Berlin)"),
        ("@every 90m", "every 1h30m"),
    ],
)
def test_says_in_words_when_it_fires(text: str, words: str) -> None:
    assert in_words(parse_recurrence(text, BERLIN)) == words


FIELD_TEXTS = st.tuples(
    st.sampled_from(["*", "0", "*/5", "5/10", "1,3", "0-10", "0-59", "7-9/2,30"]),
    st.sampled_from(["*", "0", "*/6", "9-17", "0-23", "1,2,3,4,5", "22/1"]),
    st.sampled_from(["*", "1", "L", "LW", "L,15", "LW,1", "*/2", "5-20", "L/2"]),
    st.sampled_from(["*", "1", "JAN-MAR", "*/3", "feb,4", "JUL/2"]),
    st.sampled_from(["*", "0", "7", "0,7", "MON-FRI", "5L", "mon#1,fri#3", "*/2", "1-5/2"]),
)


@settings(max_examples=100, deadline=None)
@given(FIELD_TEXTS)
def test_whatever_is_accepted_can_be_said_in_words(fields: tuple[str, ...]) -> None:
    words = in_words(parse_recurrence(" ".join(fields), "UTC"))
    assert words[0].islower()
    assert words.endswith(" (UTC)")


@settings(max_examples=100, deadline=None)
@given(st.text(alphabet="0123456789*/,-#LWlw@ MONSUNJAevery٣²ſ", max_size=40))
def test_any_text_is_either_a_schedule_or_refused(text: str) -> None:
    try:
        schedule = parse_recurrence(text, BERLIN)
    except InvalidInput:
        return
    assert schedule.text.isascii()
    assert next_after(schedule, utc("2026-11-15")) is not None
    assert in_words(schedule)


def test_importing_it_loads_no_calendar() -> None:
    program = (
        "import sys; before = set(sys.modules); import queuectl.core.recurrence; "
        "heavy = {'datetime', 'zoneinfo', 'cronsim', 'typing', 'dataclasses', 'calendar'}; "
        "print(heavy & (set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
