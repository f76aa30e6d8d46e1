"""Jobs whose parents end at the same moment in several processes: each is told once, none waits for ever."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.concurrency.roles import now
from tests.support.engines import Place, on_engines
from tests.support.jobs import HOST, claim, described, register, report
from tests.support.together import run_together

from queuectl.core import states
from queuectl.store.messages import JobFilter

pytestmark = on_engines(long=["mysql"])
FEW, MANY = 15, 300
BLOCKED = JobFilter(states=(states.BLOCKED,))


def finisher(go: Callable[[], object], place: Place, queue: str, count: int) -> None:
    """End the jobs of one queue, one after the other, and tell those who wait, as a worker does."""
    store = place.open()
    register(store, queue)
    jobs = claim(store, count, worker_id=queue, queues=(queue,), now=now())
    assert len(jobs) == count
    go()
    for job in jobs:
        store.exchange(queue, HOST, [report(job, now=now())], None, now())
        store.settle(now())
    store.close()


def late_comer(go: Callable[[], object], place: Place, count: int) -> None:
    """Enqueue jobs that wait for those which end right now."""
    store = place.open()
    go()
    for number in range(count):
        store.enqueue([[described(f"late{number}", queue="children", after=f"left{number}")]], now())
        store.settle(now())
    store.close()


@pytest.mark.parametrize("count", [FEW, pytest.param(MANY, marks=pytest.mark.long)])
def test_a_job_whose_parents_end_at_once_is_told_once(place: Place, count: int) -> None:
    store: Any = place.open()
    for number in range(count):
        parents = [f"left{number}", f"right{number}"]
        store.enqueue([[described(id, queue=id.rstrip("0123456789")) for id in parents]], now())
        store.enqueue([[described(f"child{number}", queue="children", after=parents)]], now())
    run_together(
        [
            (finisher, (place, "left", count)),
            (finisher, (place, "right", count)),
            (late_comer, (place, count)),
        ]
    )
    assert store.count(BLOCKED) == 0, "somebody waits for ever"
    assert store.connection.all("SELECT seq FROM unsettled") == []
    register(store, "w")
    children = claim(store, 3 * count, worker_id="w", now=now())
    assert {job.id for job in children} == {f"{name}{n}" for name in ("child", "late") for n in range(count)}
    assert len(children) == 2 * count
    store.close()
