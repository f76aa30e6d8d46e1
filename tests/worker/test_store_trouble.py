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
from tests.worker.workshop import Workshop, alive, elapsed

UNTIL_GO = "echo up; while ! test -e go; do sleep 0.02; done"


def test_results_wait_for_a_locked_store(site: Workshop) -> None:
    process = site.serve("--concurrency", "8")
    ids = [site.enqueue(f"{UNTIL_GO}; echo result") for _ in range(8)]
    for id in ids:
        site.running(id)
    took = elapsed()
    with site.locked():
        (site.work / "go").touch()
        wait_until(lambda: not site.job_processes())
        wait_until(lambda: took() > 3)
        assert all(site.job(id).state == states.PROCESSING for id in ids)
    site.ended(*ids)
    for id in ids:
        assert (site.job(id).state, site.job(id).attempts) == (states.COMPLETED, 1)
        assert site.attempt(id).outcome == kinds.SUCCEEDED
        assert site.stdout(id) == b"up\nresult\n"
    assert process.poll() is None


def test_jobs_keep_their_time_while_the_store_is_locked(site: Workshop) -> None:
    """A worker that waits for the store still ends what is over its time, and nothing else."""
    site.serve("--concurrency", "3")
    first = site.enqueue(UNTIL_GO)
    site.running(first)
    late = site.enqueue("echo up; sleep 60", timeout="1500ms", max_retries=0)
    early = site.enqueue("echo up; sleep 0.8", timeout="1500ms", max_retries=0)
    for id in (late, early):
        site.running(id)
    took = elapsed()
    with site.locked():
        (site.work / "go").touch()  # whose result cannot be stored
        wait_until(lambda: len(site.job_processes()) <= 2)
        wait_until(lambda: not site.job_processes(), timeout=4)
        assert took() < 2.5
    site.ended(first, late, early)
    assert site.attempt(late).outcome == kinds.TIMEOUT
    assert site.attempt(early).outcome == kinds.SUCCEEDED


def test_output_is_read_while_the_store_is_locked(site: Workshop) -> None:
    site.serve("--concurrency", "2")
    first = site.enqueue(UNTIL_GO)
    site.running(first)
    wait = "echo up; while ! test -e on; do sleep 0.02; done"
    second = site.enqueue(f"{wait}; head -c 300000 /dev/zero; touch off")
    site.running(second)
    with site.locked():
        (site.work / "go").touch()
        wait_until(lambda: len(site.job_processes()) <= 2)
        (site.work / "on").touch()
        wait_until((site.work / "off").exists, timeout=3, what="the output to be taken")
    site.ended(first, second)
    assert site.attempt(second).output_bytes == 300_003


@pytest.mark.parametrize("room", [0, 1, 5_000, 9_000])
def test_results_wait_for_room_on_the_disk(site: Workshop, room: int) -> None:
    """No file of the worker may grow, as on a full disk; what ended meanwhile is stored afterwards."""
    process = site.serve("--concurrency", "4")
    site.run("true")
    ids = [site.enqueue(f"{UNTIL_GO}; seq 1 {number}000") for number in range(1, 5)]
    for id in ids:
        site.running(id)
    hardest = resource.prlimit(process.pid, resource.RLIMIT_FSIZE)[1]
    size = (site.home / "queue.db-wal").stat().st_size
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (size + room, hardest))
    (site.work / "go").touch()
    wait_until(lambda: "the store cannot be used now" in site.log or process.poll() is not None)
    assert process.poll() is None, site.log
    waiting = site.enqueue("true")
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (hardest, hardest))
    site.ended(*ids, waiting)
    for id in (*ids, waiting):
        job = site.job(id)
        assert (job.state, job.attempts) == (states.COMPLETED, 1)
    assert process.poll() is None


def gone_for_good(site: Workshop) -> None:
    assert "was deleted or replaced while it was in use" in site.log
    wait_until(lambda: not site.job_processes(), what="its commands to end with it")


def test_a_deleted_store_ends_the_worker_and_stays_deleted(site: Workshop) -> None:
    process = site.serve()
    id = site.enqueue("echo up; sleep 60")
    site.running(id)
    for name in ("queue.db", "queue.db-wal", "queue.db-shm"):
        (site.home / name).unlink(missing_ok=True)
    assert process.wait(20) not in (0, None)
    gone_for_good(site)
    assert not (site.home / "queue.db").exists()


def test_a_replaced_store_ends_the_worker_and_is_left_alone(site: Workshop, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = Workshop(tmp_path / "other" / "home")
    other.enqueue("touch wrong", cwd=str(site.work))
    other.jobs.close()
    process = site.serve()
    id = site.enqueue("echo up; sleep 60")
    site.running(id)
    backup = tmp_path / "replacement"
    shutil.copy(other.home / "queue.db", backup)
    for name in ("queue.db-wal", "queue.db-shm"):
        (site.home / name).unlink(missing_ok=True)
    content = backup.read_bytes()
    os.replace(backup, site.home / "queue.db")
    assert process.wait(20) not in (0, None)
    gone_for_good(site)
    assert (site.home / "queue.db").read_bytes() == content
    assert not (site.work / "wrong").exists()


def test_workers_in_the_background_go_on_with_the_store_that_was_put_back(site: Workshop) -> None:
    site.start()
    old = site.worker().pid
    id = site.enqueue("true", delay="1s")
    files = [site.home / name for name in ("queue.db", "queue.db-wal", "queue.db-shm")]
    aside = site.home.parent / "aside"
    aside.mkdir()
    for file in files:
        if file.exists():
            os.rename(file, aside / file.name)
    wait_until(lambda: not alive(old), what="the worker to end")
    assert not (site.home / "queue.db").exists()
    for file in files:
        if (aside / file.name).exists():
            os.rename(aside / file.name, file)
    job = site.ended(id)
    assert (job.state, job.attempts) == (states.COMPLETED, 1)
    assert "was deleted or replaced" in site.log
