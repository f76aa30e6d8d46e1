"""The machine has no room: what was claimed goes back unharmed, and nobody spins."""

from __future__ import annotations

import resource

import pytest

from queuectl.core import states
from queuectl.testing import wait_until
from tests.worker.workshop import Workshop, cpu_seconds, descriptors, elapsed


def limit_files(pid: int, files: int) -> None:
    hardest = resource.prlimit(pid, resource.RLIMIT_NOFILE)[1]
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (files, hardest))


@pytest.mark.parametrize("spare", [0, 1, 3, 4])
def test_without_descriptors_jobs_wait_and_keep_their_attempts(site: Workshop, spare: int) -> None:
    process = site.serve("--concurrency", "2")
    site.run("true")
    limit_files(process.pid, descriptors(process.pid) + spare)
    ids = [site.enqueue("true") for _ in range(3)]
    if spare < 4:
        wait_until(lambda: "no room for another process" in site.log or process.poll() is not None)
        took, before = elapsed(), cpu_seconds(process.pid)
        wait_until(lambda: took() > 1)
        assert process.poll() is None, site.log
        assert cpu_seconds(process.pid) - before < 0.5
        assert site.log.count("no room for another process") < 8
    limit_files(process.pid, 1024)
    site.ended(*ids)
    for id in ids:
        job = site.job(id)
        assert (job.state, job.attempts, job.runs) == (states.COMPLETED, 1, 1)
    assert process.poll() is None


def test_another_worker_takes_what_one_has_no_room_for(site: Workshop) -> None:
    poor = site.serve()
    site.run("true")
    limit_files(poor.pid, descriptors(poor.pid) + 1)
    id = site.enqueue("true")
    wait_until(lambda: "no room for another process" in site.log)
    site.serve()
    job = site.ended(id)
    assert (job.state, job.attempts) == (states.COMPLETED, 1)


def test_more_slots_than_descriptors_cost_nothing_but_time(site: Workshop) -> None:
    process = site.serve("--concurrency", "100")
    site.run("true")
    limit_files(process.pid, descriptors(process.pid) + 30)
    ids = site.jobs.enqueue_many(["yes | head -c 20000; sleep 0.3"] * 60)
    site.ended(*ids, timeout=6)
    for id in ids:
        job = site.job(id)
        assert (job.state, job.attempts, job.runs) == (states.COMPLETED, 1, 1)
        assert site.attempt(id).output_bytes == 20_000
    assert process.poll() is None
