"""Schedules and those who fire them, killed at every step: each time is fired once, and none is lost."""

from __future__ import annotations

import pytest

from queuectl.testing import wait_until
from tests.conformance.test_schedules import put, schedule
from tests.crash.checker import check_whole, settle
from tests.crash.points import armed, await_fire
from tests.support.engines import SERVERS, on_engines
from tests.support.home import Home

pytestmark = on_engines(long=SERVERS)
OF_SCHEDULES = ["schedule.before_commit", "schedule.committed"]


@pytest.mark.parametrize("point", OF_SCHEDULES)
def test_a_worker_that_dies_firing_leaves_it_to_the_next_or_has_done_it(home: Home, point: str) -> None:
    with home.queue() as queue:
        due = queue.clock.now() // 3_600_000 * 3_600_000  # it came while no worker was there
        put(queue.store, schedule(next_at=due, job='{"command": "true"}'))
        home.start(env=armed(home, point))  # a supervisor starts the second one
        await_fire(home)
        wait_until(queue.list, what="the job of the schedule")
        settle(home)
        (job,) = queue.list()
        (found,) = queue.store.schedules().all()
        assert (job.state, found.last_job, found.fired, found.skipped) == ("completed", job.id, 1, 0)
        check_whole(queue)


@pytest.mark.parametrize("point", OF_SCHEDULES)
def test_a_schedule_whose_command_dies_is_there_or_not(home: Home, point: str) -> None:
    home.queue().close()
    words = ("s", "@yearly", "--", "true")
    assert home.q("schedule", "add", *words, env=armed(home, point)).returncode == -9
    with home.queue() as queue:
        there = [found.name for found in queue.store.schedules().all()]
    assert there == ([] if point == "schedule.before_commit" else ["s"])
    home.ok("schedule", "add", "--replace", *words)
