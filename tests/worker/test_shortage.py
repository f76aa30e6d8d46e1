"""The machine has no room: what was claimed goes back unharmed, and nobody spins."""

from __future__ import annotations

import resource

import pytest

from queuectl.core import states
from queuectl.testing import wait_until
from tests.support.processes import cpu_seconds, descriptors, elapsed
from tests.support.worker_home import WorkerHome


def limit_files(pid: int, files: int) -> None:
    hardest = resource.prlimit(pid, resource.RLIMIT_NOFILE)[1]
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (files, hardest))


@pytest.mark.parametrize("spare", [1, 4, *(pytest.param(n, marks=pytest.mark.proof) for n in (0, 3))])
def test_without_descriptors_jobs_wait_and_keep_their_attempts(home: WorkerHome, spare: int) -> None:
    process = home.serve("--concurrency", "2")
    home.run("true")
    limit_files(process.pid, descriptors(process.pid) + spare)
    ids = [home.enqueue("true") for _ in range(3)]
    if spare < 4:
        wait_until(lambda: "no room for another process" in home.log or process.poll() is not None)
        assert process.poll() is None, home.log
    limit_files(process.pid, 1024)
    home.ended(*ids)
    for id in ids:
        job = home.job(id)
        assert (job.state, job.attempts, job.runs) == (states.COMPLETED, 1, 1)
    assert process.poll() is None


@pytest.mark.proof
def test_a_worker_without_descriptors_does_not_spin(home: WorkerHome) -> None:
    process = home.serve("--concurrency", "2")
    home.run("true")
    limit_files(process.pid, descriptors(process.pid) + 1)
    id = home.enqueue("true")
    wait_until(lambda: "no room for another process" in home.log)
    took, before = elapsed(), cpu_seconds(process.pid)
    wait_until(lambda: took() > 1)
    assert cpu_seconds(process.pid) - before < 0.5
    assert home.log.count("no room for another process") < 8
    limit_files(process.pid, 1024)
    home.ended(id)


def test_another_worker_takes_what_one_has_no_room_for(home: WorkerHome) -> None:
    poor = home.serve()
    home.run("true")
    limit_files(poor.pid, descriptors(poor.pid) + 1)
    id = home.enqueue("true")
    wait_until(lambda: "no room for another process" in home.log)
    home.serve()
    job = home.ended(id)
    assert (job.state, job.attempts) == (states.COMPLETED, 1)


@pytest.mark.proof
def test_more_slots_than_descriptors_cost_nothing_but_time(home: WorkerHome) -> None:
    process = home.serve("--concurrency", "100")
    home.run("true")
    limit_files(process.pid, descriptors(process.pid) + 30)
    ids = home.jobs.enqueue_many(["yes | head -c 20000; sleep 0.3"] * 60)
    home.ended(*ids)
    for id in ids:
        job = home.job(id)
        assert (job.state, job.attempts, job.runs) == (states.COMPLETED, 1, 1)
        assert home.attempt(id).output_bytes == 20_000
    assert process.poll() is None
