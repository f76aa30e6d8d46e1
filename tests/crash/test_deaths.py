"""Workers and supervisors that are killed, stopped or cut off in the middle of a job."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from queuectl.testing import wait_until
from tests.crash.checker import HANGS_ONCE, RECORD, check, check_whole, end_lease, put, runs, settle
from tests.crash.points import armed
from tests.support.engines import SERVERS, on_engines
from tests.support.home import Home
from tests.support.processes import is_running, is_stopped

pytestmark = on_engines(long=SERVERS)
SHORT_LEASE = {"worker-heartbeat-interval": "0.3", "worker-lease": "1.5", "kill-grace": "0.2"}


def fall_asleep(home: Home) -> int:
    """Wait for the worker that stops itself; from then on it is in nobody's way. Its pid."""
    sleeper = wait_until(
        lambda: next(filter(is_stopped, home.workers()), None), what="the worker to stand still"
    )
    home.freeze(sleeper)
    return sleeper


def test_a_killed_worker_is_replaced_and_its_job_runs_again(home: Home) -> None:
    put(home, "job", command=HANGS_ONCE)
    home.start()
    wait_until(lambda: runs(home)["job"] == 1, what="the first run")
    (worker,) = home.workers()
    os.kill(worker, signal.SIGKILL)
    settle(home)
    check(home, ["job"])
    assert len(home.workers()) == 1
    assert worker not in home.workers()


def test_a_killed_supervisor_leaves_its_workers_at_work(home: Home) -> None:
    put(home, "first", command=RECORD + "sleep 1")
    home.start(count=2)
    wait_until(lambda: runs(home)["first"] == 1, what="the first job")
    workers = home.workers()
    (supervisor,) = home.supervisors()
    os.kill(supervisor, signal.SIGKILL)
    put(home, "second")
    settle(home)
    check(home, ["first", "second"])
    assert sorted(home.workers()) == sorted(workers)
    assert runs(home) == {"first": 1, "second": 1}
    # Another start adds workers; a stop finds all of them.
    home.start()
    assert len(home.workers()) == 3
    home.ok("worker", "stop")
    assert home.workers() == []
    assert home.pids() == []


def test_when_everything_is_killed_the_next_start_recovers_at_once(home: Home) -> None:
    home.configure(**{"worker-lease": "1h"})  # so it is not the lease that frees the job
    put(home, "job", command=HANGS_ONCE)
    home.start(count=2)
    wait_until(lambda: runs(home)["job"] == 1, what="the first run")
    for pid in home.supervisors() + home.workers():
        os.kill(pid, signal.SIGKILL)
    home.start()
    settle(home)
    check(home, ["job"])


def test_the_old_tree_is_gone_before_the_job_runs_again(home: Home) -> None:
    """Also what left its process group and its parents: it carries the claim in its environment."""
    escape = "setsid sh -c 'echo $$ > escaped; sleep 60' & (sh -c 'echo $$ > forked; exec sleep 60' &) ; "
    state = "$(sed 's/.*) //; s/ .*//' /proc/$(cat $f)/stat 2>/dev/null)"
    watch = f'for f in escaped forked; do case "{state}" in ""|Z|X) ;; *) echo $f >> overlap;; esac; done; '
    command = RECORD + f'if test "$QUEUECTL_ATTEMPT" -gt 1; then {watch} true; else {escape} sleep 60; fi'
    put(home, "job", command=command)
    home.start(count=2)
    wait_until(lambda: (home.work / "escaped").exists() and (home.work / "forked").exists())
    with home.queue() as queue:
        owner = next(w.pid for w in queue.store.workers() if w.id == queue.get("job").worker_id)
    os.kill(owner, signal.SIGKILL)
    settle(home)
    assert not (home.work / "overlap").exists()
    check(home, ["job"])


def test_a_stopped_worker_that_wakes_after_its_lease_cannot_change_the_job(home: Home) -> None:
    home.configure(**{"worker-heartbeat-interval": "0.3", "kill-grace": "0.2"})
    home.start(count=2, env=armed(home, "run.running", "stop"))
    put(home, "job", command=HANGS_ONCE)
    sleeper = fall_asleep(home)
    end_lease(home, sleeper)
    with home.queue() as queue:
        wait_until(lambda: queue.get("job").state == "completed", what="another worker to do its job")
        job = queue.get("job")
        before, attempts = job.to_dict(), queue.attempts(job)
        history = [(a.outcome, a.worker_id, a.claim) for a in attempts]
        wait_until(lambda: sleeper not in home.workers(), what="its row to be removed")
        os.kill(sleeper, signal.SIGCONT)
        # It notices, and comes back under a new name.
        wait_until(lambda: sleeper in home.workers(), what="the worker to register anew")
        assert queue.get("job").to_dict() == before
        assert [(a.outcome, a.worker_id, a.claim) for a in queue.attempts(job)] == history
    assert [outcome for outcome, _, _ in history] == ["lost", "succeeded"]
    check(home, ["job"])


def test_a_worker_that_sleeps_through_its_lease_starts_nothing_it_held_ahead(home: Home) -> None:
    """What it had claimed but not started is run by others; on waking it must not be run again."""
    home.configure(**SHORT_LEASE)
    put(home, *(f"s{n:03}" for n in range(200)), command="true")
    long = [f"long{n}" for n in range(4)]
    put(home, *long, command=RECORD + "sleep 0.3")
    home.start(env=armed(home, "run.running@201", "stop"))
    sleeper = fall_asleep(home)
    with home.queue() as queue:
        assert queue.get("long1").state == "processing", "it holds more than it runs"
    home.start()
    settle(home)
    before = runs(home)
    os.kill(sleeper, signal.SIGCONT)
    with home.queue() as queue:
        wait_until(
            lambda: [w.state for w in queue.store.workers()] == ["alive", "alive"],
            what="the sleeper to come back under a new name",
        )
    assert runs(home) == before
    check(home, long)


def test_a_worker_that_crashes_while_it_is_being_stopped_leaves_nothing_behind(home: Home) -> None:
    put(home, "job", command=RECORD + "sleep 60")
    home.start(count=2)
    wait_until(lambda: runs(home)["job"] == 1, what="the run")
    with home.queue() as queue:
        owner = next(w for w in queue.store.workers() if w.id == queue.get("job").worker_id)
        stop = subprocess.Popen(
            [sys.executable, "-m", "queuectl", "worker", "stop", "--timeout", "20"],
            env=home.env,
            cwd=home.work,
        )
        wait_until(
            lambda: any(w.id == owner.id and w.control for w in queue.store.workers()), what="the request"
        )
        os.kill(owner.pid, signal.SIGKILL)
        assert stop.wait(timeout=30) == 0
        assert queue.get("job").state == "pending"
    assert home.pids() == []


def test_a_job_that_kills_its_worker_runs_out_of_attempts(home: Home) -> None:
    home.configure(**{"backoff-base": "1", "max-retries": "2"})
    put(home, "poison", command=RECORD + "kill -9 $PPID; sleep 60")
    ids = [f"good{n}" for n in range(10)]
    put(home, *ids, max_retries=5)
    home.start(count=2)
    settle(home)
    with home.queue() as queue:
        poison = queue.get("poison")
        assert poison.state == "dead"
        assert poison.attempts == 3
        assert {a.outcome for a in queue.attempts(poison)} == {"lost"}
        assert "died" in (poison.last_error or "")
    check(home, ids)
    assert runs(home)["poison"] == 3


@pytest.mark.parametrize(("jobs", "kills"), [(80, 3), pytest.param(300, 8, marks=pytest.mark.long)])
def test_a_storm_of_kills_loses_nothing(home: Home, jobs: int, kills: int) -> None:
    home.configure(**{"max-retries": "50", "crash-limit": "50", "backoff-base": "0.1"})
    ids = [f"s{n:03}" for n in range(jobs)]
    put(home, *ids, command=RECORD + "sleep 0.01")
    home.start(count=3, concurrency=2)
    with home.queue() as queue:
        for kill in range(1, kills + 1):
            goal = jobs * kill // (kills + 2)
            wait_until(lambda goal=goal: queue.stats().counts["completed"] >= goal, timeout=60)  # type: ignore[misc]
            for pid in home.workers()[:1]:
                if is_running(pid):
                    os.kill(pid, signal.SIGKILL)
            check_whole(queue)
    settle(home, timeout=90)
    check(home, ids)
