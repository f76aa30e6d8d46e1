"""Workers and supervisors that are killed, stopped or cut off in the middle of a job."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

from queuectl.testing import wait_until
from tests.crash.checker import HANGS_ONCE, RECORD, check, check_whole, put, runs, settle
from tests.crash.points import armed
from tests.site import Site
from tests.stillness import is_running, is_stopped

SHORT_LEASE = {"worker-heartbeat-interval": "0.3", "worker-lease": "1.5", "kill-grace": "0.2"}


def fall_asleep(site: Site) -> int:
    """Wait for the worker that stops itself; from then on it is in nobody's way. Its pid."""
    sleeper = wait_until(
        lambda: next(filter(is_stopped, site.workers()), None), what="the worker to stand still"
    )
    site.freeze(sleeper)
    return sleeper


def test_a_killed_worker_is_replaced_and_its_job_runs_again(site: Site) -> None:
    put(site, "job", command=HANGS_ONCE)
    site.start()
    wait_until(lambda: runs(site)["job"] == 1, what="the first run")
    (worker,) = site.workers()
    os.kill(worker, signal.SIGKILL)
    settle(site)
    check(site, ["job"])
    assert len(site.workers()) == 1
    assert worker not in site.workers()


def test_a_killed_supervisor_leaves_its_workers_at_work(site: Site) -> None:
    put(site, "first", command=RECORD + "sleep 1")
    site.start(count=2)
    wait_until(lambda: runs(site)["first"] == 1, what="the first job")
    workers = site.workers()
    (supervisor,) = site.supervisors()
    os.kill(supervisor, signal.SIGKILL)
    put(site, "second")
    settle(site)
    check(site, ["first", "second"])
    assert sorted(site.workers()) == sorted(workers)
    assert runs(site) == {"first": 1, "second": 1}
    # Another start adds workers; a stop finds all of them.
    site.start()
    assert len(site.workers()) == 3
    site.ok("worker", "stop")
    assert site.workers() == []
    assert site.pids() == []


def test_when_everything_is_killed_the_next_start_recovers_at_once(site: Site) -> None:
    put(site, "job", command=HANGS_ONCE)
    site.start(count=2)
    wait_until(lambda: runs(site)["job"] == 1, what="the first run")
    for pid in site.supervisors() + site.workers():
        os.kill(pid, signal.SIGKILL)
    site.start()
    settle(site, timeout=10)  # far below the lease of 30 s
    check(site, ["job"])


def test_the_old_tree_is_gone_before_the_job_runs_again(site: Site) -> None:
    """Also what left its process group and its parents: it carries the claim in its environment."""
    escape = "setsid sh -c 'echo $$ > escaped; sleep 60' & (sh -c 'echo $$ > forked; exec sleep 60' &) ; "
    state = "$(sed 's/.*) //; s/ .*//' /proc/$(cat $f)/stat 2>/dev/null)"
    watch = f'for f in escaped forked; do case "{state}" in ""|Z|X) ;; *) echo $f >> overlap;; esac; done; '
    command = RECORD + f'if test "$QUEUECTL_ATTEMPT" -gt 1; then {watch} true; else {escape} sleep 60; fi'
    put(site, "job", command=command)
    site.start(count=2)
    wait_until(lambda: (site.work / "escaped").exists() and (site.work / "forked").exists())
    with site.queue() as queue:
        owner = next(w.pid for w in queue.store.workers() if w.id == queue.get("job").worker_id)
    os.kill(owner, signal.SIGKILL)
    settle(site)
    assert not (site.work / "overlap").exists()
    check(site, ["job"])


def test_a_stopped_worker_that_wakes_after_its_lease_cannot_change_the_job(site: Site) -> None:
    site.configure(**SHORT_LEASE)
    site.start(count=2, env=armed(site, "run.running", "stop"))
    put(site, "job", command=HANGS_ONCE)
    sleeper = fall_asleep(site)
    with site.queue() as queue:
        wait_until(lambda: queue.get("job").state == "completed", what="another worker to do its job")
        job = queue.get("job")
        before, attempts = job.to_dict(), queue.attempts(job)
        history = [(a.outcome, a.worker_id, a.claim) for a in attempts]
        wait_until(lambda: sleeper not in site.workers(), what="its row to be removed")
        os.kill(sleeper, signal.SIGCONT)
        # It notices, and comes back under a new name.
        wait_until(lambda: sleeper in site.workers(), what="the worker to register anew")
        assert queue.get("job").to_dict() == before
        assert [(a.outcome, a.worker_id, a.claim) for a in queue.attempts(job)] == history
    assert [outcome for outcome, _, _ in history] == ["lost", "succeeded"]
    check(site, ["job"])


def test_a_worker_that_sleeps_through_its_lease_starts_nothing_it_held_ahead(site: Site) -> None:
    """What it had claimed but not started is run by others; on waking it must not be run again."""
    site.configure(**SHORT_LEASE)
    put(site, *(f"s{n:03}" for n in range(200)), command="true")
    long = [f"long{n}" for n in range(4)]
    put(site, *long, command=RECORD + "sleep 0.3")
    site.start(env=armed(site, "run.running@201", "stop"))
    sleeper = fall_asleep(site)
    with site.queue() as queue:
        assert queue.get("long1").state == "processing", "it holds more than it runs"
    site.start()
    settle(site)
    before = runs(site)
    os.kill(sleeper, signal.SIGCONT)
    with site.queue() as queue:
        wait_until(
            lambda: [w.state for w in queue.store.workers()] == ["alive", "alive"],
            what="the sleeper to come back under a new name",
        )
    assert runs(site) == before
    check(site, long)


def test_a_worker_that_crashes_while_it_is_being_stopped_leaves_nothing_behind(site: Site) -> None:
    put(site, "job", command=RECORD + "sleep 60")
    site.start(count=2)
    wait_until(lambda: runs(site)["job"] == 1, what="the run")
    with site.queue() as queue:
        owner = next(w for w in queue.store.workers() if w.id == queue.get("job").worker_id)
        stop = subprocess.Popen(
            [sys.executable, "-m", "queuectl", "worker", "stop", "--timeout", "20"],
            env=site.env,
            cwd=site.work,
        )
        wait_until(
            lambda: any(w.id == owner.id and w.control for w in queue.store.workers()), what="the request"
        )
        os.kill(owner.pid, signal.SIGKILL)
        assert stop.wait(timeout=30) == 0
        assert queue.get("job").state == "pending"
    assert site.pids() == []


def test_a_job_that_kills_its_worker_runs_out_of_attempts(site: Site) -> None:
    site.configure(**{"backoff-base": "1", "max-retries": "2"})
    put(site, "poison", command=RECORD + "kill -9 $PPID; sleep 60")
    ids = [f"good{n}" for n in range(10)]
    put(site, *ids, max_retries=5)
    site.start(count=2)
    settle(site)
    with site.queue() as queue:
        poison = queue.get("poison")
        assert poison.state == "dead"
        assert poison.attempts == 3
        assert {a.outcome for a in queue.attempts(poison)} == {"lost"}
        assert "died" in (poison.last_error or "")
    check(site, ids)
    assert runs(site)["poison"] == 3


def test_a_storm_of_kills_loses_nothing(site: Site) -> None:
    site.configure(**{"max-retries": "50", "crash-limit": "50", "backoff-base": "0.1"})
    ids = [f"s{n:03}" for n in range(300)]
    put(site, *ids, command=RECORD + "sleep 0.01")
    site.start(count=3, concurrency=2)
    with site.queue() as queue:
        for fraction in range(1, 9):
            goal = len(ids) * fraction // 10
            wait_until(lambda goal=goal: queue.stats().counts["completed"] >= goal, timeout=60)  # type: ignore[misc]
            for pid in site.workers()[:1]:
                if is_running(pid):
                    os.kill(pid, signal.SIGKILL)
            check_whole(queue)
    settle(site, timeout=90)
    check(site, ids)
