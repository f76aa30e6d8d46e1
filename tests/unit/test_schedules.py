"""What a schedule does at a given time: through clock changes, after a day down; and what it may be."""

from __future__ import annotations

import json
import os
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conformance.test_schedules import schedule

from queuectl.core.recurrence import CATCH_UP, next_after
from queuectl.core.schedules import (
    Schedule,
    check_job,
    check_name,
    check_rules,
    firing_id,
    name_followers,
    plan,
)
from queuectl.core.spec import Defaults
from queuectl.errors import InvalidInput
from queuectl.schedules import local_zone
from queuectl.testing import FakeClock

MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000
DEFAULTS = Defaults(now=0, cwd="/srv")


def instant(text: str, zone: str) -> int:
    """By the standard library's own reading."""
    return round(datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp() * 1000)


def watch(one: Schedule, clock: FakeClock, *, until: int, step: int = 5 * 60) -> list[str]:
    """Look every few seconds, as a worker's heart does; the ids of the jobs in their order."""
    made = []
    while clock.now() < until:
        firing = plan(one, Defaults(now=clock.now()))
        if firing is not None:
            made += [str(job.id) for job in firing.jobs]
            one.next_at = firing.next_at
            one.skipped += firing.skipped
            one.last_at = firing.last_at or one.last_at
        clock.advance(step)
    return made


def begun(begin: int, **fields: Any) -> Schedule:
    one = schedule(**fields)
    one.next_at = next_after(one.parsed(), begin)
    return one


# Clock changes: the times are UTC, as in the ids.

NIGHTS = [
    # Berlin 2027-03-28: 02:00 becomes 03:00; 2027-10-31: 03:00 becomes 02:00
    (
        "Europe/Berlin",
        "30 2 * * *",
        "2027-03-27T00:00",
        ["20270327T013000Z", "20270328T010000Z", "20270329T003000Z"],
    ),
    (
        "Europe/Berlin",
        "30 2 * * *",
        "2027-10-30T00:00",
        ["20271030T003000Z", "20271031T003000Z", "20271101T013000Z"],
    ),
    # New York 2027-03-14: 02:00 becomes 03:00; 2027-11-07: 02:00 becomes 01:00
    (
        "America/New_York",
        "30 2 * * *",
        "2027-03-13T00:00",
        ["20270313T073000Z", "20270314T070000Z", "20270315T063000Z"],
    ),
    (
        "America/New_York",
        "30 1 * * *",
        "2027-11-06T00:00",
        ["20271106T053000Z", "20271107T053000Z", "20271108T063000Z"],
    ),
    # Lord Howe, by half an hour: 2027-10-03: 02:00 becomes 02:30; 2027-04-04: 02:00 becomes 01:30
    (
        "Australia/Lord_Howe",
        "15 2 * * *",
        "2027-10-02T00:00",
        ["20271001T154500Z", "20271002T153000Z", "20271003T151500Z"],
    ),
    (
        "Australia/Lord_Howe",
        "45 1 * * *",
        "2027-04-03T00:00",
        ["20270402T144500Z", "20270403T144500Z", "20270404T151500Z"],
    ),
]


@pytest.mark.parametrize(("zone", "cron", "begin", "times"), NIGHTS)
@pytest.mark.parametrize("catch_up", CATCH_UP)
def test_a_nightly_job_runs_once_in_each_night_of_a_clock_change(
    zone: str, cron: str, begin: str, times: list[str], catch_up: str
) -> None:
    start = instant(begin, zone)
    clock = FakeClock(start)
    overlap = "queue" if catch_up == "all" else "skip"
    one = begun(start, recurrence=cron, zone=zone, catch_up=catch_up, overlap=overlap)
    # Three nights, be the days 23 or 25 hours long; looked at often enough to be on time.
    made = watch(one, clock, until=start + 3 * DAY - HOUR, step=15)
    assert made == [f"s-{time}" for time in times]
    assert one.skipped == 0


@pytest.mark.parametrize(
    ("zone", "day", "hours"),
    [
        ("Europe/Berlin", "2027-03-28", 23),
        ("Europe/Berlin", "2027-10-31", 25),
        ("America/New_York", "2027-03-14", 23),
        ("America/New_York", "2027-11-07", 25),
        ("UTC", "2028-02-29", 24),
    ],
)
def test_an_hourly_job_runs_in_each_hour_that_there_is(zone: str, day: str, hours: int) -> None:
    start = instant(day, zone)
    one = begun(start - 1, recurrence="0 * * * *", zone=zone, overlap="allow")
    made = watch(one, FakeClock(start), until=start + hours * HOUR)
    assert made == [firing_id("s", start + hour * HOUR) for hour in range(hours)]
    assert one.skipped == 0


def test_a_clock_that_is_set_back_fires_nothing_twice() -> None:
    clock = FakeClock(instant("2027-01-15T08:00", "UTC"))
    one = begun(clock.now(), overlap="allow")
    first = watch(one, clock, until=clock.now() + 3 * HOUR + 1)
    clock.jump(-2 * 3600)
    second = watch(one, clock, until=clock.now() + 3 * HOUR)
    assert len(first) == 3
    assert second == ["s-20270115T120000Z"]


# A scheduler that was down for a day


@pytest.mark.parametrize(
    ("catch_up", "made", "skipped"),
    [("skip", 0, 25), ("one", 1, 24), ("all", 25, 0)],
)
@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "Australia/Lord_Howe"])
def test_after_a_day_down(catch_up: str, made: int, skipped: int, zone: str) -> None:
    overlap = "allow" if catch_up == "all" else "skip"
    clock = FakeClock(instant("2027-01-15T08:30", zone))
    one = begun(clock.now(), recurrence="0 * * * *", zone=zone, catch_up=catch_up, overlap=overlap)
    clock.advance(25 * 3600)
    firing = plan(one, Defaults(now=clock.now()))
    assert firing is not None
    assert (len(firing.jobs), firing.skipped) == (made, skipped)
    assert firing.next_at == instant("2027-01-16T10:00", zone)
    if made:
        last = instant("2027-01-16T09:00", zone)
        assert (firing.jobs[-1].id, firing.last_at) == (firing_id("s", last), last)
    else:
        assert firing.last_at is None


@settings(max_examples=100, deadline=None)
@given(
    recurrence=st.sampled_from(["*/5 * * * *", "30 2 * * *", "0 * * * *", "@every 90s", "@weekly"]),
    zone=st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"]),
    catch_up=st.sampled_from(CATCH_UP),
    naps=st.lists(st.integers(1, 5 * 3600), min_size=1, max_size=30),
    begin=st.integers(1_800_000_000_000, 1_840_000_000_000),
)
def test_whenever_somebody_looks_no_time_is_fired_twice_and_each_is_counted(
    recurrence: str, zone: str, catch_up: str, naps: list[int], begin: int
) -> None:
    clock = FakeClock(begin)
    one = begun(begin, recurrence=recurrence, zone=zone, catch_up=catch_up, overlap="allow")
    made: list[str] = []
    for nap in naps:
        clock.advance(nap)
        while (firing := plan(one, Defaults(now=clock.now()))) is not None:
            made += [str(job.id) for job in firing.jobs]
            one.skipped += firing.skipped
            one.next_at = firing.next_at
    assert one.next_at is not None
    assert one.next_at > clock.now()
    assert made == sorted(set(made))
    times = 0
    at = next_after(one.parsed(), begin)
    while at is not None and at <= clock.now():
        times += 1
        at = next_after(one.parsed(), at)
    assert len(made) + one.skipped == times
    if catch_up == "all":
        assert one.skipped == 0


def test_nothing_is_planned_before_its_time_or_for_one_that_has_ended() -> None:
    one = schedule(next_at=100)
    assert plan(one, Defaults(now=99)) is None
    one.next_at = None
    assert plan(one, Defaults(now=10**15)) is None


# The jobs


def test_a_job_has_the_fields_of_its_schedule_and_its_mark() -> None:
    fields = {
        "argv": ["ls", "-l"],
        "queue": "mail",
        "priority": 3,
        "max_retries": 0,
        "group": "g",
        "cwd": "/x",
    }
    firing = plan(schedule(job=json.dumps(fields), next_at=0, recurrence="@every 1s"), Defaults(now=0))
    assert firing is not None
    (job,) = firing.jobs
    assert (job.id, job.command, job.queue, job.priority, job.max_retries) == (
        *("s-19700101T000000Z", "ls -l", "mail", 3, 0),
    )
    assert job.cwd == "/x"
    assert job.conditions is not None
    assert (job.conditions.schedule, job.conditions.group) == ("s", "g")


def test_retries_are_as_configured_when_it_fires() -> None:
    one = schedule(next_at=0, recurrence="@every 1s")
    firing = plan(one, Defaults(now=0, max_retries=9))
    assert firing is not None
    assert firing.jobs[0].max_retries == 9


def test_jobs_that_queue_are_in_a_group_of_their_own() -> None:
    firing = plan(schedule("n", next_at=0, recurrence="@every 1s", overlap="queue"), Defaults(now=0))
    assert firing is not None
    mine = firing.jobs[0].conditions
    assert mine is not None
    assert (mine.group, mine.group_limit) == ("schedule:n", 1)


def test_the_longest_name_makes_ids_and_groups_that_are_allowed() -> None:
    name = check_name("n" * 50)
    one = schedule(name, next_at=0, recurrence="@every 1s", overlap="queue")
    firing = plan(one, Defaults(now=0))
    assert firing is not None
    (job,) = name_followers(firing.jobs)
    assert job.conditions is not None
    assert len(str(job.id)) + len("-on-failure") <= 128
    assert len(str(job.conditions.group)) <= 64


# What is refused


@pytest.mark.parametrize("name", ["", "a b", "-a", ".a", "ä", "a/b", "n" * 51, "a\n", 7, None])
def test_refuses_a_name(name: object) -> None:
    with pytest.raises(InvalidInput, match="schedule name"):
        check_name(name)


@pytest.mark.parametrize(
    ("catch_up", "overlap", "found"),
    [("one", None, "skip"), ("skip", None, "skip"), ("all", None, "queue"), ("all", "allow", "allow")],
)
def test_what_holds_if_nobody_says_how_jobs_may_overlap(
    catch_up: str, overlap: str | None, found: str
) -> None:
    assert check_rules(catch_up, overlap) == (catch_up, found)


@pytest.mark.parametrize(("catch_up", "overlap"), [("all", "skip"), ("some", None), ("one", "wait")])
def test_refuses_rules_that_make_no_sense(catch_up: str, overlap: str | None) -> None:
    with pytest.raises(InvalidInput):
        check_rules(catch_up, overlap)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *[("id", "x"), ("run_at", "+5s"), ("delay", "5s"), ("name", "x"), ("unique_key", "k")],
        *[("after", ["x"]), ("after_any", ["x"]), ("after_fail", ["x"]), ("depends_on", ["x"])],
    ],
)
def test_refuses_what_only_one_job_can_have(field: str, value: object) -> None:
    with pytest.raises(InvalidInput, match=f"schedule cannot have {field}"):
        check_job({"command": "x", field: value}, "skip", DEFAULTS)


def test_refuses_a_group_beside_the_one_of_its_queue() -> None:
    fields: dict[str, object] = {"command": "x", "group": "g"}
    assert check_job(fields, "skip", DEFAULTS)["group"] == "g"
    with pytest.raises(InvalidInput, match="a job is in one group"):
        check_job(fields, "queue", DEFAULTS)


def test_keeps_the_fields_of_a_job_and_where_it_was_made() -> None:
    fields: dict[str, object] = {
        "command": "x",
        "cwd": "sub",
        "timeout": "10m",
        "state": "dead",
        "tags": None,
    }
    assert check_job(fields, "skip", DEFAULTS) == {"command": "x", "cwd": "/srv/sub", "timeout": "10m"}


def test_values_of_variables_are_not_shown() -> None:
    one = schedule(job='{"command": "x", "env": {"TOKEN": "secret"}}')
    assert "secret" not in json.dumps(one.to_dict())
    assert one.to_dict()["job"] == {"command": "x", "env": {"TOKEN": "***"}}


def test_a_damaged_one_can_be_shown() -> None:
    assert schedule(job="{").to_dict()["in_words"] == "damaged: the job of schedule s is damaged"
    assert "99" in str(schedule(recurrence="99 * * * *").to_dict()["in_words"])


# The zone of this machine


@pytest.mark.parametrize(
    ("tz", "found"),
    [
        ("Europe/Berlin", "Europe/Berlin"),
        (":Asia/Tokyo", "Asia/Tokyo"),
        ("UTC", "UTC"),
        ("", "UTC"),
        ("Etc/UTC", "UTC"),
    ],
)
def test_the_zone_of_the_environment_goes_first(tz: str, found: str, tmp_path: Path) -> None:
    assert local_zone({"TZ": tz}, str(tmp_path / "missing")) == found


def test_a_zone_without_a_name_is_not_guessed() -> None:
    with pytest.raises(InvalidInput, match="TZ=CET-1CEST"):
        local_zone({"TZ": "CET-1CEST"})


@pytest.mark.parametrize(
    ("target", "found"),
    [
        ("zoneinfo/Europe/Berlin", "Europe/Berlin"),
        ("zoneinfo/posix/America/New_York", "America/New_York"),
        ("zoneinfo/Etc/UTC", "UTC"),
        ("zoneinfo/No/Such", "UTC"),
        ("elsewhere", "UTC"),
    ],
)
def test_else_the_link_tells_it(target: str, found: str, tmp_path: Path) -> None:
    file = tmp_path / target
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch()
    os.symlink(file, tmp_path / "localtime")
    assert local_zone({}, str(tmp_path / "localtime")) == found
