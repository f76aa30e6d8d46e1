"""The disk is full when a job comes, is claimed, prints, or ends.

Nothing is acknowledged that was not stored, nothing is lost, and all goes on by itself when there is room.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from queuectl.core import outcome as kinds
from queuectl.core import states
from queuectl.testing import wait_until
from queuectl.worker.ledger import Ledger
from tests.faults.small_disk import SmallDisk, small_disk
from tests.support.worker_home import WorkerHome

UNTIL_GO = "echo up; while ! test -e {go}; do sleep 0.02; done; "
NOT_NOW = "the store cannot be used now: the disk is full"
LONG = "x" * 30_000  # so that it fits into no page that is there already


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(tmp_path / "disk") as disk:
        yield disk


@pytest.fixture
def home(disk: SmallDisk) -> Iterator[WorkerHome]:
    home = WorkerHome(disk.directory / "home")
    home.log_file = disk.directory.parent / "worker.log"  # it shall be read though the disk is full
    yield home
    left = home.close()
    assert not left, home.log


def ran_once(home: WorkerHome, *ids: str) -> None:
    for id in ids:
        job = home.job(id)
        assert (job.state, job.attempts, job.runs) == (states.COMPLETED, 1, 1), home.log


def test_who_enqueues_is_told_and_nothing_is_acknowledged(home: WorkerHome, disk: SmallDisk) -> None:
    home.enqueue("true", id="before")
    disk.fill()
    refused = home.q("enqueue", "--id", "lost", f"echo {LONG}")
    assert refused.returncode == 3
    assert refused.stdout == ""
    assert refused.stderr.splitlines()[0] == f"error: the disk is full ({home.path / 'queue.db'})"
    assert "Traceback" not in refused.stderr
    assert home.ok("list", "--quiet") == "before\n", "reading goes on"
    disk.free()
    home.ok("enqueue", "--id", "lost", f"echo {LONG}")


def test_no_store_is_half_made(disk: SmallDisk, tmp_path: Path) -> None:
    home = WorkerHome(tmp_path / "elsewhere")
    disk.fill()
    env = {"QUEUECTL_HOME": str(disk.directory / "new")}
    refused = home.q("enqueue", "--id", "a", "true", env=env)
    assert refused.returncode == 3
    assert "disk is full" in refused.stderr or "No space left" in refused.stderr
    disk.free()
    home.ok("enqueue", "--id", "a", "true", env=env)
    home.close()


def test_jobs_wait_unharmed_until_they_can_be_claimed(home: WorkerHome, disk: SmallDisk) -> None:
    process = home.serve("--concurrency", "2")
    ids = [home.enqueue(f"true {LONG}", delay="1s") for _ in range(20)]
    disk.fill()
    wait_until(lambda: NOT_NOW in home.log or process.poll() is not None, what="the worker to say so")
    assert process.poll() is None, home.log
    disk.free()
    home.ended(*ids, timeout=60)
    ran_once(home, *ids)


def test_results_wait_until_they_can_be_stored(home: WorkerHome, disk: SmallDisk, tmp_path: Path) -> None:
    process = home.serve("--concurrency", "4")
    ids = [home.enqueue(UNTIL_GO.format(go=tmp_path / "go") + "seq 1 2000") for _ in range(4)]
    for id in ids:
        home.running(id)
    disk.fill()
    (tmp_path / "go").touch()
    wait_until(lambda: NOT_NOW in home.log or process.poll() is not None, what="the worker to say so")
    assert process.poll() is None, home.log
    disk.free()
    home.ended(*ids)
    ran_once(home, *ids)
    for id in ids:
        assert home.stdout(id).endswith(b"1999\n2000\n")


def test_long_output_without_room_does_not_cost_the_job(
    home: WorkerHome, disk: SmallDisk, tmp_path: Path
) -> None:
    home.serve()
    id = home.enqueue(UNTIL_GO.format(go=tmp_path / "go") + f"seq 1 200000; touch {tmp_path}/printed")
    home.running(id)
    disk.fill()
    (tmp_path / "go").touch()
    wait_until((tmp_path / "printed").exists, what="the command not to be held up")
    disk.free()
    home.ended(id)
    ran_once(home, id)
    assert home.attempt(id).outcome == kinds.SUCCEEDED
    assert home.attempt(id).output_bytes == 3 + 1_288_895
    assert home.stdout(id).startswith(b"up\n")
    assert home.attempt(id).output_dropped


def test_a_worker_that_finds_no_room_says_so(home: WorkerHome, disk: SmallDisk) -> None:
    id = home.enqueue(f"true {LONG}")
    disk.fill()
    for how, says in (("--foreground", ("disk is full", "No space left")), ("--count=1", ("disk is full",))):
        refused = home.q("worker", "start", how)
        assert refused.returncode != 0, (how, refused)
        assert "Traceback" not in refused.stderr
        assert any(words in refused.stderr for words in says), refused
    disk.free()
    home.start()
    home.ended(id)
    ran_once(home, id)


def test_a_ledger_that_has_room_only_for_a_part_is_not_left_behind(disk: SmallDisk) -> None:
    """Mapped beyond its end, it would be the death of the worker at some later mark."""
    disk.fill(but=4_096)
    file = disk.directory / "ledger"
    with pytest.raises(OSError, match="No space left"):
        Ledger(str(file), 1_000)
    assert not file.exists()
    disk.free()
    Ledger(str(file), 1_000).close()


def test_the_doctor_tells_it(home: WorkerHome, disk: SmallDisk) -> None:
    disk.fill()
    told = home.q("doctor")
    assert told.returncode == 1
    assert "0 bytes free on the disk" in told.stdout
