"""Leases: kept by a heartbeat, given up in time, and final when lost."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

import pytest

from queuectl.core import outcome as kinds
from queuectl.core import states
from queuectl.testing import wait_until
from tests.support.processes import alive, descriptors, elapsed
from tests.support.worker_home import WorkerHome

UNTIL_GO = "echo up; while ! test -e go; do sleep 0.02; done"
HANGS_ONCE = 'echo up; test "$QUEUECTL_ATTEMPT" -gt 1 || sleep 60'


@pytest.fixture
def short(home: WorkerHome) -> WorkerHome:
    """A lease of two seconds, of which the last one is for ending commands."""
    home.config(worker_heartbeat_interval="100ms", kill_grace="100ms")
    home.config(worker_lease="2s")
    return home


def test_a_lease_is_renewed_while_a_job_runs(home: WorkerHome) -> None:
    home.config(worker_heartbeat_interval="100ms")
    home.serve()
    id = home.enqueue(UNTIL_GO)
    home.running(id)
    for _ in range(3):
        until = home.worker().lease_until
        wait_until(lambda until=until: home.worker().lease_until > until, what="a renewal")  # type: ignore[misc]
    (home.work / "go").touch()
    job = home.ended(id)
    assert (job.state, job.attempts) == (states.COMPLETED, 1)


@pytest.mark.long
def test_a_long_job_outlives_many_leases(home: WorkerHome) -> None:
    home.config(worker_heartbeat_interval="100ms")
    home.config(worker_lease="4s")  # a busy machine lets nobody in for a second
    home.serve(count=2)
    job = home.run("sleep 9")
    assert (job.state, job.attempts) == (states.COMPLETED, 1)


def lease_is_over(home: WorkerHome) -> bool:
    return home.jobs.store.lease_ended(home.worker())


def beat_of_another(home: WorkerHome, id: str) -> Callable[[], bool]:
    """Whether another than this one has renewed its lease since now."""
    before = max(worker.lease_until for worker in home.registered() if worker.id != id)
    return lambda: max(worker.lease_until for worker in home.registered() if worker.id != id) > before


def test_a_worker_that_cannot_renew_ends_its_commands_before_its_lease(short: WorkerHome) -> None:
    process = short.serve()
    id = short.enqueue(HANGS_ONCE)
    short.running(id)
    with short.locked():
        wait_until(lambda: not short.job_processes())
        wait_until(lambda: lease_is_over(short), what="the lease to end")
    job = short.ended(id)
    assert (job.state, job.attempts, job.lost) == (states.COMPLETED, 2, 1)
    assert [attempt.outcome for attempt in short.attempts(id)] == [kinds.LOST, kinds.SUCCEEDED]
    assert short.attempts(id)[0].error == "stopped: its worker could not renew its lease"
    assert short.log.count("it ends its commands") == 1
    assert process.poll() is None


def test_commands_end_in_time_though_a_result_waits_for_the_store(short: WorkerHome) -> None:
    """The same, while the worker tries to store the result of another job."""
    short.serve("--concurrency", "2")
    id = short.enqueue(HANGS_ONCE)
    short.running(id)
    other = short.enqueue(UNTIL_GO)
    short.running(other)
    with short.locked():
        (short.work / "go").touch()
        wait_until(lambda: not short.job_processes())
        wait_until(lambda: lease_is_over(short), what="the lease to end")
    short.ended(id, other)
    assert [attempt.outcome for attempt in short.attempts(other)] == [kinds.SUCCEEDED]
    assert [attempt.outcome for attempt in short.attempts(id)] == [kinds.LOST, kinds.SUCCEEDED]


@pytest.mark.long
def test_a_deaf_command_is_gone_before_the_lease_too(short: WorkerHome) -> None:
    short.config(worker_lease="10s")  # of which the last two seconds are for ending commands
    short.serve()
    id = short.enqueue("trap '' TERM; echo up; while test $QUEUECTL_ATTEMPT = 1; do sleep 0.05; done")
    short.running(id)
    with short.locked():
        wait_until(lambda: not short.job_processes())
        assert not lease_is_over(short)
    assert short.ended(id).state == states.COMPLETED
    assert short.log.count("it ends its commands") == 1


def test_nothing_is_burnt_when_the_store_comes_back(short: WorkerHome) -> None:
    """What is claimed before the heart has renewed the lease must not be ended for the old one."""
    short.serve("--concurrency", "4")
    id = short.enqueue(HANGS_ONCE)
    short.running(id)
    with short.locked():
        wait_until(lambda: lease_is_over(short), what="the lease to end")
    ids = [short.enqueue("sleep 0.2") for _ in range(8)]
    short.ended(id, *ids)
    assert [short.job(id).attempts for id in ids] == [1] * 8
    assert short.job(id).attempts == 2


def test_a_worker_declared_dead_ends_its_commands_and_comes_back_as_another(home: WorkerHome) -> None:
    home.config(worker_heartbeat_interval="100ms")
    process = home.serve("--concurrency", "3")
    ids = [home.enqueue("yes | head -c 50000; " + HANGS_ONCE) for _ in range(3)]
    for id in ids:
        home.running(id)
    old = home.worker()
    pids = set(home.job_processes())
    before = descriptors(process.pid)
    wait_until(lambda: home.jobs.store.bury(home.worker()), what="the worker to be buried")
    home.ended(*ids)
    assert not any(alive(pid) for pid in pids)
    new = home.worker()
    assert new.id != old.id
    assert new.pid == old.pid == process.pid
    for id in ids:
        assert [attempt.outcome for attempt in home.attempts(id)] == [kinds.LOST, kinds.SUCCEEDED]
    wait_until(lambda: descriptors(process.pid) <= before - 9, what="pipes and logs to be closed")
    names = [name for name in os.listdir(home.path / "run") if not name.startswith("retry-")]
    assert sorted(names) == sorted([new.id + ".bell", new.id + ".ledger"])


def test_a_dead_worker_cannot_claim(home: WorkerHome) -> None:
    home.config(worker_heartbeat_interval="10s")
    home.serve()
    home.run("true")
    old = home.worker().id
    wait_until(lambda: home.jobs.store.bury(home.worker()))
    job = home.run("true")  # the claim is refused, so it learns of its death and registers anew
    assert (job.state, job.attempts, job.lost) == (states.COMPLETED, 1, 0)
    assert home.attempt(job.id).worker_id not in (None, old)


def test_a_pause_shorter_than_the_lease_is_nothing(home: WorkerHome) -> None:
    home.config(worker_heartbeat_interval="200ms")
    process = home.serve()
    other = home.serve()
    id = home.enqueue(UNTIL_GO)
    job = home.running(id)
    (paused,) = [worker for worker in home.registered() if worker.id == job.worker_id]
    home.freeze(paused.pid)
    for _ in range(3):  # the other one looks for dead ones at each heartbeat
        wait_until(beat_of_another(home, paused.id), what="a heartbeat of the other")
    (home.work / "go").touch()
    os.kill(paused.pid, signal.SIGCONT)
    job = home.ended(id)
    assert (job.state, job.attempts) == (states.COMPLETED, 1)
    assert process.poll() is None
    assert other.poll() is None


def test_a_worker_that_comes_back_waits_for_the_store(home: WorkerHome) -> None:
    """It was declared dead and wants to register anew, but somebody holds the store."""
    home.config(worker_heartbeat_interval="100ms")
    stand_still = {"QUEUECTL_ENABLE_FAILPOINTS": "1", "QUEUECTL_FAILPOINT": "run.exited=sleep:0.3"}
    process = home.serve(env=stand_still)
    id = home.enqueue(HANGS_ONCE)
    home.running(id)
    wait_until(lambda: home.jobs.store.bury(home.worker()))
    wait_until(lambda: "was declared dead" in home.log)
    took = elapsed()
    with home.locked():
        wait_until(lambda: took() > 1.5)
    assert process.poll() is None, home.log
    assert home.ended(id).state == states.COMPLETED
