"""Changes by people and upkeep whose COMMIT gets no answer, or which a deadlock undoes: made once (B52, B55).

Claims, results, enqueues and schedules are in test_unknown_commits.py and test_schedules.py.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from queuectl.core import states
from queuectl.store.messages import JobFilter
from queuectl.testing import wait_until
from tests.faults.test_locks import STRONGER
from tests.faults.trouble import CUT, LATE, SWALLOWED, while_commit_is
from tests.support import sessions
from tests.support.jobs import (
    NOW,
    add,
    claim,
    claim_one,
    described,
    finish,
    get,
    job_in,
    put,
    report,
    state_of,
)
from tests.support.proxy import Proxy
from tests.support.shared_queue import SharedQueue

ONE = JobFilter(ids=("j",))
InTrouble = Callable[[Callable[[], Any]], Any]


@pytest.fixture(
    params=[
        SWALLOWED,
        pytest.param(CUT, marks=pytest.mark.proof),
        pytest.param(LATE, marks=pytest.mark.proof),
    ]
)
def in_trouble(request: pytest.FixtureRequest, proxy: Proxy, place: SharedQueue) -> InTrouble:
    return lambda action: while_commit_is(request.param, proxy, place.url, action)


def test_a_job_is_held_changed_and_released(direct: Any, store: Any, in_trouble: InTrouble) -> None:
    add(direct, "j")
    assert in_trouble(lambda: store.editing().hold(ONE, NOW)) == 1
    assert get(direct, "j").state == states.BLOCKED
    assert in_trouble(lambda: store.editing().edit(ONE, {"priority": 7, "queue": "other"}, NOW)) == 1
    assert in_trouble(lambda: store.editing().release(ONE, NOW)) == 1
    job = get(direct, "j")
    assert (job.state, job.priority, job.queue) == (states.PENDING, 7, "other")


def test_the_progress_of_a_running_job(direct: Any, store: Any, in_trouble: InTrouble) -> None:
    job = job_in(direct, states.PROCESSING)
    assert in_trouble(lambda: store.editing().set_progress("j", job.claim, 40, "half", NOW)) is True
    assert (get(direct, "j").progress, get(direct, "j").progress_text) == (40, "half")


def test_a_queue_gets_its_rules_and_is_paused_and_resumed(
    direct: Any, store: Any, in_trouble: InTrouble
) -> None:
    assert in_trouble(lambda: store.queues().set("mail", {"concurrency": 2}, NOW)).concurrency == 2
    assert (
        in_trouble(lambda: store.queues().pause("mail", reason="why", until=None, now=NOW)).paused_at == NOW
    )
    assert direct.queues().get("mail").pause_reason == "why"
    assert in_trouble(lambda: store.queues().drain("mail", NOW)).draining == 1
    assert in_trouble(lambda: store.queues().resume("mail", NOW)).paused_at is None
    assert in_trouble(lambda: store.queues().set("mail", {"concurrency": None}, NOW)) is None
    assert direct.queues().all() == []


def test_what_has_ended_long_ago_is_purged_and_its_logs_are_named(
    direct: Any, store: Any, in_trouble: InTrouble
) -> None:
    """More than one call may delete: never more than have ended, and every log is named."""
    add(direct, "a", "b", "c", "runs")
    jobs = claim(direct, 4)
    finish(direct, *(report(job, log=f"{job.id}.log") for job in jobs[:3]))
    count, logs = in_trouble(lambda: store.purge(states.COMPLETED, NOW + 1, limit=10))
    assert (count, sorted(logs)) == (3, ["a.log", "b.log", "c.log"])
    assert [job.id for job in direct.page(JobFilter(), limit=10)] == ["runs"]


def test_conditions_come_in_with_their_job(direct: Any, store: Any, in_trouble: InTrouble) -> None:
    put(direct, "parent")
    child = described("child", after="parent", unique_key="k", group="g", group_limit=1)
    assert in_trouble(lambda: store.enqueue([[child]], NOW)) == 1
    assert state_of(direct, "child") == [states.BLOCKED]
    assert len(direct.links().parents(get(direct, "child").seq)) == 1
    finish(direct, report(claim_one(direct)))
    direct.settle(NOW)
    assert state_of(direct, "child") == [states.PENDING]


def test_those_who_wait_are_told_once(direct: Any, store: Any, in_trouble: InTrouble) -> None:
    """The end of a parent, and the jobs of a group that it makes room for."""
    put(direct, "parent", group="g", group_limit=1)
    put(direct, "child", after="parent")
    put(direct, "next", group="g")
    parent = claim_one(direct)
    in_trouble(lambda: finish(store, report(parent)))
    direct.settle(NOW)
    assert state_of(direct, "parent", "child", "next") == [states.COMPLETED, states.PENDING, states.PENDING]


def test_a_removal_that_was_undone_does_not_name_the_logs_of_jobs_that_stay(
    place: SharedQueue, engine: str, direct: Any
) -> None:
    """It loses a deadlock; before its second run, somebody brings one of its jobs back to life."""
    add(direct, "a", "b", max_retries=0)
    jobs = claim(direct, 2)
    finish(direct, *(report(job, "failed", log=f"{job.id}.log") for job in jobs))
    assert state_of(direct, "a", "b") == [states.DEAD, states.DEAD]
    both = JobFilter(ids=("a", "b"))
    with ThreadPoolExecutor(1) as threads, sessions.transaction(place.url) as cursor:
        cursor.execute(STRONGER[engine])
        cursor.execute("UPDATE attempts SET host = 'x' WHERE job_seq = %s", (get(direct, "b").seq,))
        done = threads.submit(lambda: direct.remove(both, sources=(states.DEAD,), limit=10))
        wait_until(lambda: sessions.waiting(place.url), what="our side to hold both and wait for an attempt")
        cursor.execute("UPDATE jobs SET state = 'pending', finished_at = NULL WHERE id = 'a'")
        cursor.connection.commit()
        assert done.result(timeout=30) == (1, ["b.log"])
    assert get(direct, "a").state == states.PENDING
