"""Thousands of jobs leave nothing behind: no zombie, no descriptor, no file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from queuectl.core import states
from queuectl.queue import JobFilter
from queuectl.testing import wait_until
from tests.support.processes import descriptors, kill, resident_kb
from tests.support.worker_home import WorkerHome


def zombies(parent: int) -> list[int]:
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    found = []
    for pid in children:
        try:
            stat = Path("/proc", pid, "stat").read_text()
        except OSError:
            continue
        if stat.rpartition(")")[2].split()[0] == "Z":
            found.append(int(pid))
    return found


def settle(home: WorkerHome) -> None:
    wait_until(lambda: home.jobs.store.unfinished(JobFilter()) == 0, timeout=60, what="all jobs to end")


@pytest.mark.parametrize("count", [200, pytest.param(2000, marks=pytest.mark.long)])
def test_many_jobs_leave_nothing_behind(home: WorkerHome, count: int) -> None:
    process = home.serve("--concurrency", "2")
    home.run("true")
    before, memory = descriptors(process.pid), resident_kb(process.pid)
    # Every tenth leaves an orphan that the worker, as subreaper, has to bury.
    lines = ["(sleep 0.01 &)" if n % 10 == 0 else "echo $QUEUECTL_JOB_ID" for n in range(count)]
    ids = home.jobs.enqueue_many(lines)
    settle(home)
    assert home.jobs.stats().counts[states.COMPLETED] == count + 1
    assert all(home.job(id).attempts == 1 for id in ids)
    assert home.stdout(ids[1]).decode().strip() == ids[1]
    wait_until(lambda: not zombies(process.pid), what="zombies to be reaped")
    wait_until(lambda: descriptors(process.pid) <= before, what="descriptors to be closed")
    assert resident_kb(process.pid) - memory < 16 * 1024
    worker = home.worker().id
    retries, *files = sorted(os.listdir(home.path / "run"))
    assert (files, os.listdir(home.path / "run" / retries)) == ([worker + ".bell", worker + ".ledger"], [])
    assert not list(Path(home.logs_dir).glob("*/*"))
    process.terminate()
    assert process.wait(20) == 0
    assert os.listdir(home.path / "run") == []


def test_every_job_runs_once_and_in_order(home: WorkerHome) -> None:
    ids = home.jobs.enqueue_many([{"command": "echo $QUEUECTL_JOB_ID >> order", "cwd": str(home.work)}] * 100)
    urgent = home.enqueue("echo $QUEUECTL_JOB_ID >> order", priority=1)
    home.serve()
    settle(home)
    assert (home.work / "order").read_text().split() == [urgent, *ids]


@pytest.mark.parametrize("slots", [1, 4])
def test_long_jobs_do_not_keep_others_waiting(home: WorkerHome, slots: int) -> None:
    """What a worker has claimed ahead goes back when the jobs before it take long."""
    home.serve("--concurrency", str(slots))
    home.ended(*home.jobs.enqueue_many(["true"] * 200))  # now it has learnt that jobs are short
    long = home.jobs.enqueue_many(["sleep 60"] * slots)
    short = home.jobs.enqueue_many(["true"] * 20)
    wait_until(lambda: all(home.job(id).state == states.PROCESSING for id in long))
    home.serve()
    home.ended(*short)
    for id in short:
        job = home.job(id)
        assert (job.attempts, job.runs) == (1, 1)
    for id in long:
        home.jobs.cancel(id)
    home.ended(*long)


def test_orphans_of_commands_are_adopted_and_buried(home: WorkerHome) -> None:
    process = home.serve()
    job = home.run("(setsid sleep 60 & echo $!)")
    orphan = int(home.stdout(job.id))
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    wait_until(lambda: str(orphan) in children.read_text().split(), what="the worker to adopt it")
    kill(orphan)
    wait_until(lambda: not Path(f"/proc/{orphan}").exists(), what="the worker to bury it")
