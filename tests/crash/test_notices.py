"""Whoever dies when a job ends: the end is told of, once."""

from __future__ import annotations

import pytest

from tests.crash.checker import RECORD, check, put, runs, settle
from tests.crash.points import armed, await_fire
from tests.support.engines import SERVERS, on_engines
from tests.support.home import Home

pytestmark = on_engines(long=SERVERS)
IDS = [f"job{n}" for n in range(4)]


def tell_all(home: Home) -> None:
    home.configure(**{"notify": f"cd '{home.work}'; {RECORD}", "notify-on": "any"})


@pytest.mark.parametrize("point", ["complete.before_commit", "complete.committed"])
def test_a_worker_that_dies_when_it_reports_tells_of_every_end_once(home: Home, point: str) -> None:
    tell_all(home)
    put(home, *IDS)
    home.supervise(concurrency=2, env=armed(home, point))
    await_fire(home)
    settle(home)
    told = [f"{id}:notify-" for id in IDS]
    with home.queue() as queue:
        notifications = [job for job in queue.list(limit=100) if job.about is not None]
        assert sorted(job.id.rstrip("0123456789") for job in notifications) == told
        assert {job.state for job in notifications} == {"completed"}
    assert {job.id for job in notifications} <= set(runs(home))
    check(home, [*IDS, *(job.id for job in notifications)])


@pytest.mark.parametrize("point", ["change.before_commit", "change.committed"])
def test_a_cancel_that_dies_has_told_of_it_or_not_cancelled(home: Home, point: str) -> None:
    tell_all(home)
    put(home, "a")
    assert home.q("cancel", "a", env=armed(home, point)).returncode == -9
    with home.queue() as queue:
        told = len(queue.store.notices().about("a"))
        cancelled = queue.get("a").state == "cancelled"
    assert (cancelled, told) == ((True, 1) if point == "change.committed" else (False, 0))
