"""A process is killed with -9 at every step of its work; nothing is lost, nothing done twice."""

from __future__ import annotations

import os
import signal

import pytest

from queuectl.testing import wait_until
from tests.crash.checker import HANGS_ONCE, RECORD, check, put, runs, settle
from tests.crash.points import (
    BETWEEN_CLAIM_AND_FINISH,
    OF_ARRIVING,
    OF_HEARTS,
    OF_LEAVING,
    OF_RESCUERS,
    OF_WORKERS_STOPPING,
    armed,
    await_fire,
    by_default,
)
from tests.support.engines import SERVERS, on_engines
from tests.support.home import Home
from tests.support.processes import is_stopped

pytestmark = on_engines(long=SERVERS)


@pytest.mark.parametrize("point", by_default("register.committed", of=OF_ARRIVING))
def test_a_worker_killed_while_it_arrives_loses_nothing(home: Home, point: str) -> None:
    """For the steps between its claim and its result see test_links."""
    ids = [f"job{n}" for n in range(6)]
    put(home, *ids)
    home.supervise(concurrency=2, env=armed(home, point))
    settle(home)
    await_fire(home)
    check(home, ids)


@pytest.mark.parametrize("point", by_default("heartbeat.before_commit", "heartbeat.committed", of=OF_HEARTS))
def test_a_worker_killed_at_any_step_of_a_heartbeat_loses_nothing(home: Home, point: str) -> None:
    """While its jobs run: the heart beats beside them, and may be later than short ones."""
    ids = [f"job{n}" for n in range(3)]
    put(home, *ids, command=RECORD + "until test -e fired; do sleep 0.02; done")
    home.supervise(concurrency=2, env=armed(home, point))
    settle(home)
    check(home, ids)


@pytest.mark.parametrize("victims", ["supervisor", "both"])
@pytest.mark.parametrize(
    "point",
    by_default("claim.committed", "run.running", "complete.before_commit", of=BETWEEN_CLAIM_AND_FINISH),
)
def test_a_supervisor_killed_at_any_step_of_its_worker_loses_nothing(
    home: Home, point: str, victims: str
) -> None:
    """The worker is held still at the step; then its supervisor is killed, alone or with it."""
    ids = [f"job{n}" for n in range(4)]
    put(home, *ids)
    home.supervise(concurrency=2, env=armed(home, point, "stop"))
    worker = wait_until(
        lambda: next(filter(is_stopped, home.workers()), None), what="the worker to stand still"
    )
    (supervisor,) = home.supervisors()
    os.kill(supervisor, signal.SIGKILL)
    if victims == "both":
        os.kill(worker, signal.SIGKILL)
        home.supervise()
    else:
        os.kill(worker, signal.SIGCONT)
    settle(home)
    check(home, ids)


def test_the_job_runs_again_long_before_the_lease_ends(home: Home) -> None:
    """Whoever sees the process die does not wait for its lease, which here is an hour."""
    home.configure(**{"worker-lease": "1h"})
    put(home, "slow", command=HANGS_ONCE)
    home.q("worker", "start", "--count", "2", env=armed(home, "run.running"))
    settle(home)
    with home.queue() as queue:
        assert [attempt.outcome for attempt in queue.attempts(queue.get("slow"))] == ["lost", "succeeded"]
    check(home, ["slow"])


@pytest.mark.proof
@pytest.mark.parametrize("point", ["run.spawned", "run.running"])
def test_the_job_runs_again_within_two_seconds(home: Home, point: str) -> None:
    put(home, "slow", command=HANGS_ONCE)
    home.q("worker", "start", "--count", "2", env=armed(home, point))
    settle(home)
    killed = os.stat(home.work / "fired").st_mtime
    with home.queue() as queue:
        lost, again = queue.attempts(queue.get("slow"))
    assert lost.outcome == "lost"
    assert again.started_at is not None
    assert again.started_at / 1000 - killed < 2.0
    check(home, ["slow"])


def test_a_result_that_was_not_stored_is_run_again(home: Home) -> None:
    """At least once, and said so: the command had ended well, but nobody knew."""
    put(home, "twice")
    home.supervise(env=armed(home, "run.exited"))
    settle(home)
    assert runs(home)["twice"] == 2
    check(home, ["twice"])


def test_jobs_claimed_ahead_by_a_dead_worker_lose_no_attempt(home: Home) -> None:
    """Only what was started counts: a bystander with a single try must not die of its neighbour."""
    ids = [f"j{n:03}" for n in range(300)]
    put(home, *ids, command="true", max_retries=0)
    home.q("worker", "start", "--concurrency", "2", env=armed(home, "complete.before_commit@3"))
    settle(home)
    with home.queue() as queue:
        jobs = [queue.get(id) for id in ids]
        dead = [job.id for job in jobs if job.state == "dead"]
        # Those whose commands had begun are lost with their only attempt; nobody else is.
        begun = [job.id for job in jobs for a in queue.attempts(job) if a.outcome == "lost"]
    assert sorted(dead) == sorted(begun)
    assert len(dead) <= 140
    assert len(dead) < len(ids)


@pytest.mark.parametrize(
    "point",
    by_default("bury.committed", "reap.killed", "finish.before_commit", "finish.committed", of=OF_RESCUERS),
)
def test_a_rescuer_that_dies_is_no_worse_than_none(home: Home, point: str) -> None:
    """A worker dies, and so does the one that was freeing its jobs."""
    put(home, "job", command=HANGS_ONCE)
    home.supervise()
    wait_until(lambda: runs(home)["job"] == 1, what="the first run")
    for pid in home.supervisors() + home.workers():
        os.kill(pid, 9)
    home.q("worker", "start", "--count", "2", env=armed(home, point))
    settle(home)
    await_fire(home)
    check(home, ["job"])


@pytest.mark.parametrize(
    "point", by_default("forget.before_commit", "shutdown.drained", of=OF_LEAVING + OF_WORKERS_STOPPING)
)
def test_a_worker_that_dies_while_it_leaves_is_gone_all_the_same(home: Home, point: str) -> None:
    put(home, "job")
    home.supervise(env=armed(home, point))
    settle(home)
    home.ok("worker", "stop")
    await_fire(home)
    assert home.workers() == []
    assert home.pids() == []
    check(home, ["job"])
