"""Workers that are gone: recognised for certain, their jobs freed, unrelated processes left alone."""

from __future__ import annotations

import os
import struct
import subprocess

from queuectl import system
from queuectl.core import outcome as kinds
from queuectl.core import states
from queuectl.store.messages import Worker
from queuectl.testing import wait_until
from queuectl.upkeep.rescuer import Rescuer, rescue
from tests.support.dead_worker import NAME, claim_by_a_dead_worker, identity, write_ledger
from tests.support.jobs import claim, register
from tests.support.processes import alive
from tests.support.systems import both_systems
from tests.support.worker_home import WorkerHome


def lost_once(home: WorkerHome, id: str) -> None:
    job = home.ended(id)
    assert (job.state, job.attempts, job.lost) == (states.COMPLETED, 2, 1)
    assert [attempt.outcome for attempt in home.attempts(id)] == [kinds.LOST, kinds.SUCCEEDED]
    told = str(home.attempts(id)[0].error)
    assert f"worker {NAME}" in told
    assert "last seen " in told
    assert len(home.registered()) == 1


def test_a_number_that_means_another_process_now_is_nobody(home: WorkerHome) -> None:
    unrelated = subprocess.Popen(["sleep", "60"])
    try:
        own = system.identify(unrelated.pid)
        assert own is not None
        own.start = "1"
        id = claim_by_a_dead_worker(home, own.encode())
        home.serve()
        lost_once(home, id)
        home.ok("worker", "stop")
        assert alive(unrelated.pid)
    finally:
        unrelated.kill()
        unrelated.wait()


def test_stop_does_not_signal_another_process_with_a_workers_number(home: WorkerHome) -> None:
    unrelated = subprocess.Popen(["sleep", "60"])
    try:
        own = system.identify(unrelated.pid)
        assert own is not None
        own.start = "1"
        claim_by_a_dead_worker(home, own.encode())
        assert home.ok("worker", "stop", "--now") == "No workers are running\n"
        assert alive(unrelated.pid)
    finally:
        unrelated.kill()
        unrelated.wait()


@both_systems
def test_workers_of_an_earlier_boot_are_dead_whatever_their_lease(home: WorkerHome) -> None:
    id = claim_by_a_dead_worker(home, identity(boot="earlier", portable=home.portable))
    home.serve()
    lost_once(home, id)


def test_a_worker_that_cannot_be_seen_is_alive_until_its_lease_ends(home: WorkerHome) -> None:
    home.config(worker_heartbeat_interval="100ms")
    id = claim_by_a_dead_worker(home, identity(namespace="4711"))  # as in another container
    home.serve()
    home.run("true")
    assert home.job(id).state == states.PROCESSING
    home.jobs.store.heartbeat(NAME, 1, 0, home.jobs.clock.now(), None)  # its last one: for a millisecond
    lost_once(home, id)


def test_jobs_that_were_claimed_and_not_started_are_as_if_never_claimed(home: WorkerHome) -> None:
    id = claim_by_a_dead_worker(home, identity(start="1"))
    write_ledger(home, bytes(16 * 8))
    home.serve()
    job = home.ended(id)
    assert (job.state, job.attempts, job.runs, job.lost) == (states.COMPLETED, 1, 1, 0)
    assert [attempt.outcome for attempt in home.attempts(id)] == [kinds.SUCCEEDED]
    assert not (home.path / "run" / f"{NAME}.ledger").exists()


def test_jobs_that_were_started_count(home: WorkerHome) -> None:
    id = claim_by_a_dead_worker(home, identity(start="1"))
    write_ledger(home, struct.pack("<qq", home.job(id).seq, 0) + b"torn")
    home.serve()
    lost_once(home, id)


@both_systems
def test_what_is_left_of_a_lost_job_is_gone_before_it_runs_again(home: WorkerHome) -> None:
    """The remains are found by the token in their environment, wherever they hide."""
    id = claim_by_a_dead_worker(home, identity(start="1", portable=home.portable))
    job = home.job(id)
    remains = subprocess.Popen(
        ["sleep", "60"], env={**os.environ, system.TOKEN_VARIABLE: job.token}, start_new_session=True
    )
    home.serve()
    lost_once(home, id)
    assert remains.wait(5) == -9


def test_output_of_a_lost_attempt_is_kept(home: WorkerHome) -> None:
    home.serve(count=2)
    id = home.enqueue("echo first words; test $QUEUECTL_ATTEMPT = 2 || sleep 60")
    job = home.running(id)
    pid = next(worker.pid for worker in home.registered() if worker.id == job.worker_id)
    os.kill(pid, 9)
    home.ended(id)
    lost = home.attempts(id)[0]
    assert lost.outcome == kinds.LOST
    assert lost.log is not None
    wait_until(lambda: home.live(job) == b"first words\n")


def test_one_worker_finds_all_that_died_behind_it_at_its_next_beat(home: WorkerHome) -> None:
    """A row of dead ones, each of whom would have looked at the next."""
    store = home.jobs.store
    ids = [home.enqueue("true") for _ in range(5)]
    for number in range(5):
        gone = identity(start="1")
        worker = register(store, f"{NAME}{number}", identity=gone, host=system.hostname(), lease_ms=600_000)
        claim(store, worker_id=worker.id, now=home.jobs.clock.now())
    home.serve()
    assert all(home.ended(id).state == states.COMPLETED for id in ids)
    assert len(home.registered()) == 1


def test_a_worker_asks_only_for_the_next_process_that_lives(home: WorkerHome) -> None:
    """Else the work of many idle workers would grow with the square of their number."""
    store = home.jobs.store
    asked: list[str] = []

    class Asked(type(store)):  # type: ignore[misc]
        def presence(self, worker: Worker) -> str:
            asked.append(worker.id)
            return str(super().presence(worker))

    for name, start in (("a", None), ("b", "1"), ("c", None), ("d", "1"), ("e", None)):
        register(store, name, identity=identity() if start is None else identity(start=start))
    store.__class__ = Asked
    rescue(store, home.jobs.settings, home.jobs.clock.now(), by="a")
    assert asked == ["b", "c"]
    assert sorted(worker.id for worker in store.workers()) == ["a", "c", "d", "e"]
    asked.clear()
    rescue(store, home.jobs.settings, home.jobs.clock.now(), by="e")
    assert asked == ["a"]
    asked.clear()
    rescue(store, home.jobs.settings, home.jobs.clock.now())
    assert asked == ["a", "c", "d", "e"]
    assert sorted(worker.id for worker in store.workers()) == ["a", "c", "e"]


def test_a_heartbeat_reads_all_workers_only_when_somebody_is_gone(home: WorkerHome) -> None:
    store, read = home.jobs.store, []

    class Read(type(store)):  # type: ignore[misc]
        def workers(self) -> list[Worker]:
            read.append("all")
            return list(super().workers())

    for name in ("a", "b", "c"):
        register(store, name, identity=identity(), lease_ms=600_000)
    store.__class__ = Read
    rescuer = Rescuer(lambda: "b")
    for _ in range(3):
        rescuer(store, home.jobs.settings, home.jobs.clock.now())
    assert read == ["all"]  # at the first, when there may be some of an earlier boot
    register(store, "bb", identity=identity(start="1"), lease_ms=600_000)
    rescuer(store, home.jobs.settings, home.jobs.clock.now())
    assert read == ["all"] * 2
    assert sorted(worker.id for worker in home.registered()) == ["a", "b", "c"]
