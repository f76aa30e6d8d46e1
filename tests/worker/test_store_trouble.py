"""The store is locked for a while, or gone for good."""

from __future__ import annotations

import os
import resource
import shutil
from pathlib import Path

import pytest

from queuectl.core import outcome as kinds
from queuectl.core import states
from queuectl.testing import wait_until
from tests.support.processes import alive, elapsed, read_proc
from tests.support.worker_home import WorkerHome

UNTIL_GO = "echo up; while ! test -e go; do sleep 0.02; done"


def test_results_wait_for_a_locked_store(home: WorkerHome) -> None:
    process = home.serve("--concurrency", "8")
    ids = [home.enqueue(f"{UNTIL_GO}; echo result") for _ in range(8)]
    for id in ids:
        home.running(id)
    took = elapsed()
    with home.locked():
        (home.work / "go").touch()
        wait_until(lambda: not home.job_processes())
        wait_until(lambda: took() > 3)
        assert all(home.job(id).state == states.PROCESSING for id in ids)
    home.ended(*ids)
    for id in ids:
        assert (home.job(id).state, home.job(id).attempts) == (states.COMPLETED, 1)
        assert home.attempt(id).outcome == kinds.SUCCEEDED
        assert home.stdout(id) == b"up\nresult\n"
    assert process.poll() is None


def test_jobs_keep_their_time_while_the_store_is_locked(home: WorkerHome) -> None:
    """A worker that waits for the store still ends what is over its time, and nothing else."""
    home.serve("--concurrency", "3")
    first = home.enqueue(UNTIL_GO)
    home.running(first)
    late = home.enqueue("echo up; sleep 60", timeout="1500ms", max_retries=0)
    early = home.enqueue("echo up; while ! test -e over; do sleep 0.02; done", timeout="1m", max_retries=0)
    for id in (late, early):
        home.running(id)
    with home.locked():
        (home.work / "go").touch()  # whose result cannot be stored
        ours = home.job(early).token.encode()
        wait_until(lambda: all(ours in read_proc(pid, "environ") for pid in home.job_processes()))
        (home.work / "over").touch()
        wait_until(lambda: not home.job_processes())
    home.ended(first, late, early)
    assert home.attempt(late).outcome == kinds.TIMEOUT
    assert home.attempt(early).outcome == kinds.SUCCEEDED


def test_output_is_read_while_the_store_is_locked(home: WorkerHome) -> None:
    home.serve("--concurrency", "2")
    first = home.enqueue(UNTIL_GO)
    home.running(first)
    wait = "echo up; while ! test -e on; do sleep 0.02; done"
    second = home.enqueue(f"{wait}; head -c 300000 /dev/zero; touch off")
    home.running(second)
    with home.locked():
        (home.work / "go").touch()
        wait_until(lambda: len(home.job_processes()) <= 2)
        (home.work / "on").touch()
        wait_until((home.work / "off").exists, what="the output to be taken")
    home.ended(first, second)
    assert home.attempt(second).output_bytes == 300_003


@pytest.mark.parametrize("room", [0, 5_000, *(pytest.param(n, marks=pytest.mark.long) for n in (1, 9_000))])
def test_results_wait_for_room_on_the_disk(home: WorkerHome, room: int) -> None:
    """No file of the worker may grow, as on a full disk; what ended meanwhile is stored afterwards."""
    process = home.serve("--concurrency", "4")
    home.run("true")
    ids = [home.enqueue(f"{UNTIL_GO}; seq 1 {number}000") for number in range(1, 5)]
    for id in ids:
        home.running(id)
    hardest = resource.prlimit(process.pid, resource.RLIMIT_FSIZE)[1]
    size = (home.path / "queue.db-wal").stat().st_size
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (size + room, hardest))
    (home.work / "go").touch()
    wait_until(lambda: "the store cannot be used now" in home.log or process.poll() is not None)
    assert process.poll() is None, home.log
    waiting = home.enqueue("true")
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (hardest, hardest))
    home.ended(*ids, waiting)
    for id in (*ids, waiting):
        job = home.job(id)
        assert (job.state, job.attempts) == (states.COMPLETED, 1)
    assert process.poll() is None


def gone_for_good(home: WorkerHome) -> None:
    assert "was deleted or replaced while it was in use" in home.log
    wait_until(lambda: not home.job_processes(), what="its commands to end with it")


def test_a_deleted_store_ends_the_worker_and_stays_deleted(home: WorkerHome) -> None:
    process = home.serve()
    id = home.enqueue("echo up; sleep 60")
    home.running(id)
    for name in ("queue.db", "queue.db-wal", "queue.db-shm"):
        (home.path / name).unlink(missing_ok=True)
    assert process.wait(20) not in (0, None)
    gone_for_good(home)
    assert not (home.path / "queue.db").exists()


def test_a_replaced_store_ends_the_worker_and_is_left_alone(home: WorkerHome, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = WorkerHome(tmp_path / "other" / "home")
    other.enqueue("touch wrong", cwd=str(home.work))
    other.jobs.close()
    process = home.serve()
    id = home.enqueue("echo up; sleep 60")
    home.running(id)
    backup = tmp_path / "replacement"
    shutil.copy(other.path / "queue.db", backup)
    for name in ("queue.db-wal", "queue.db-shm"):
        (home.path / name).unlink(missing_ok=True)
    content = backup.read_bytes()
    os.replace(backup, home.path / "queue.db")
    assert process.wait(20) not in (0, None)
    gone_for_good(home)
    assert (home.path / "queue.db").read_bytes() == content
    assert not (home.work / "wrong").exists()


def test_workers_in_the_background_go_on_with_the_store_that_was_put_back(home: WorkerHome) -> None:
    home.start()
    old = home.worker().pid
    id = home.enqueue("true", delay="1s")
    files = [home.path / name for name in ("queue.db", "queue.db-wal", "queue.db-shm")]
    aside = home.path.parent / "aside"
    aside.mkdir()
    for file in files:
        if file.exists():
            os.rename(file, aside / file.name)
    wait_until(lambda: not alive(old), what="the worker to end")
    assert not (home.path / "queue.db").exists()
    for file in files:
        if (aside / file.name).exists():
            os.rename(aside / file.name, file)
    job = home.ended(id)
    assert (job.state, job.attempts) == (states.COMPLETED, 1)
    assert "was deleted or replaced" in home.log
