"""The wall clock is set back: what failed before waits as long as it had to, not until the clock is there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.conformance.test_schedules import schedule
from tests.support.jobs import add, claim, claim_one, finish_with, get, register

from queuectl.config.settings import Settings
from queuectl.core import outcome as kinds
from queuectl.core import states
from queuectl.core.recurrence import next_after
from queuectl.events import subscribe
from queuectl.testing import FakeClock
from queuectl.upkeep.bookkeeper import Bookkeeper
from queuectl.upkeep.purger import Purger
from queuectl.upkeep.scheduler import run_once
from queuectl.upkeep.timekeeper import SLACK_MS, Timekeeper

if TYPE_CHECKING:
    from collections.abc import Iterator

    from queuectl.store.api import Store

TWO_DAYS = 2 * 86_400


@pytest.fixture
def told() -> Iterator[list[str]]:
    """What went to the log about it."""
    lines: list[str] = []
    leave = subscribe(lambda name, fields: lines.append(f"{fields}") if name == "clock.went_back" else None)
    yield lines
    leave()


def failed(store: Store, id: str, clock: FakeClock, wait: int) -> None:
    """A job that failed right now and waits so many milliseconds."""
    add(store, id, now=clock.now())
    register(store)
    job = finish_with(store, claim_one(store, now=clock.now()), kinds.FAILED, now=clock.now())
    assert job.state == states.FAILED
    db = store.connection  # type: ignore[attr-defined]
    db.run("UPDATE jobs SET run_at = ? WHERE id = ?", (clock.now() + wait, id))


def test_a_back_off_is_not_made_longer(store: Store, clock: FakeClock, told: list[str]) -> None:
    failed(store, "a", clock, wait=30_000)
    keeper = Timekeeper(clock)
    keeper(store, Settings(), clock.now())
    clock.advance(5)
    keeper(store, Settings(), clock.now())
    assert told == []
    clock.jump(-TWO_DAYS)
    clock.advance(5)
    keeper(store, Settings(), clock.now())
    assert get(store, "a").run_at == clock.now() + 30_000
    (line,) = told
    assert "2d" in line
    clock.advance(30)
    keeper(store, Settings(), clock.now())
    assert [job.id for job in claim(store, now=clock.now())] == ["a"]
    assert len(told) == 1


def test_so_it_is_if_the_clock_was_set_while_nobody_looked(store: Store, clock: FakeClock) -> None:
    failed(store, "a", clock, wait=1_000)
    clock.jump(-TWO_DAYS)
    keeper = Timekeeper(clock)
    for _ in range(2):
        keeper(store, Settings(), clock.now())
    assert get(store, "a").run_at == clock.now() + 1_000


def test_many_are_found(store: Store, clock: FakeClock) -> None:
    failed(store, "a", clock, wait=1_000)
    add(store, *(f"j{n}" for n in range(1_200)), now=clock.now())
    db = store.connection  # type: ignore[attr-defined]
    many = "UPDATE jobs SET state = 'failed', run_at = updated_at + 1000 WHERE state = 'pending'"
    db.run(many)
    store.bookkeeping().recount()
    clock.jump(-TWO_DAYS)
    assert store.bookkeeping().shorten_waits(clock.now(), SLACK_MS) == 1_201
    assert db.all("SELECT DISTINCT run_at FROM jobs") == [(clock.now() + 1_000,)]
    assert store.bookkeeping().shorten_waits(clock.now(), SLACK_MS) == 0


@pytest.mark.parametrize("jump", [0, 3_600, 365 * 86_400, -30])
def test_other_clocks_change_nothing(store: Store, clock: FakeClock, told: list[str], jump: int) -> None:
    """Set forward, or by the little by which the clocks of machines differ anyhow."""
    failed(store, "a", clock, wait=10_000_000)
    add(store, "later", now=clock.now(), run_at=clock.now() + 5 * TWO_DAYS * 1000)
    before = get(store, "a").run_at, get(store, "later").run_at
    keeper = Timekeeper(clock)
    for _ in range(2):
        keeper(store, Settings(), clock.now())
    clock.jump(jump)
    keeper(store, Settings(), clock.now())
    assert (get(store, "a").run_at, get(store, "later").run_at) == before
    assert told == []


def test_a_time_that_somebody_named_stays_that_time(store: Store, clock: FakeClock) -> None:
    add(store, "later", now=clock.now(), run_at=clock.now() + 1_000)
    due = get(store, "later").run_at
    clock.jump(-TWO_DAYS)
    assert store.bookkeeping().shorten_waits(clock.now(), SLACK_MS) == 0
    assert get(store, "later").run_at == due


def test_housekeeping_does_not_wait_for_the_clock(store: Store, clock: FakeClock) -> None:
    """Each of them works once in a while, which must not become once in two days."""
    settings = Settings()
    settings.keep_completed = 60_000
    purger, bookkeeper = Purger(), Bookkeeper()
    for keeper in (purger, bookkeeper):
        keeper(store, settings, clock.now())
    clock.jump(-TWO_DAYS)
    add(store, "old", now=clock.now())
    register(store)
    finish_with(store, claim_one(store, now=clock.now()), kinds.SUCCEEDED, now=clock.now() - 100_000)
    purger(store, settings, clock.now())
    db = store.connection  # type: ignore[attr-defined]
    assert db.all("SELECT id FROM jobs") == []
    bookkeeper(store, settings, clock.now())
    for _ in range(3):
        clock.advance(601)
        bookkeeper(store, settings, clock.now())
    assert (
        db.all("SELECT 1 FROM tallies WHERE minute > 0 AND minute < ?", (clock.now() // 60_000 - 20,)) == []
    )


def test_a_schedule_is_not_silent_for_a_year(store: Store, clock: FakeClock) -> None:
    year = 365 * 86_400
    hourly, yearly = schedule("hourly", next_at=clock.now()), schedule("yearly", recurrence="0 0 1 1 *")
    yearly.next_at = next_after(yearly.parsed(), clock.now())
    resting = schedule("resting", next_at=clock.now() + year * 1000, paused_at=clock.now())
    for one in (hourly, yearly, resting):
        store.schedules().add(one)
    keeper = Timekeeper(clock)
    keeper(store, Settings(), clock.now())
    clock.jump(year)
    run_once(store, Settings(), clock.now())
    clock.jump(-year)
    clock.advance(5)
    before = {one.name: one.next_at for one in store.schedules().all()}
    keeper(store, Settings(), clock.now())
    after = {one.name: one.next_at for one in store.schedules().all()}
    assert before["hourly"] > clock.now() + (year - 7200) * 1000
    assert after["hourly"] == next_after(hourly.parsed(), clock.now())
    assert after["yearly"] == next_after(yearly.parsed(), clock.now())
    assert after["resting"] == before["resting"]


def test_what_was_fired_an_hour_ahead_is_not_fired_again(store: Store, clock: FakeClock) -> None:
    store.schedules().add(schedule("s", next_at=clock.now()))
    keeper = Timekeeper(clock)
    keeper(store, Settings(), clock.now())
    clock.jump(7200)
    run_once(store, Settings(), clock.now())
    (laid_down,) = store.schedules().all()
    clock.jump(-7200)
    clock.advance(5)
    keeper(store, Settings(), clock.now())
    assert [one.next_at for one in store.schedules().all()] == [laid_down.next_at]
