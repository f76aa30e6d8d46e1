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
from tests.worker.workshop import Workshop

UNTIL_GO = "echo up; while ! test -e {go}; do sleep 0.02; done; "
NOT_NOW = "the store cannot be used now: the disk is full"
LONG = "x" * 30_000  # so that it fits into no page that is there already


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(tmp_path / "disk") as disk:
        yield disk


@pytest.fixture
def site(disk: SmallDisk) -> Iterator[Workshop]:
    site = Workshop(disk.directory / "home")
    site.log_file = disk.directory.parent / "worker.log"  # it shall be read though the disk is full
    yield site
    left = site.close()
    assert not left, site.log


def ran_once(site: Workshop, *ids: str) -> None:
    for id in ids:
        job = site.job(id)
        assert (job.state, job.attempts, job.runs) == (states.COMPLETED, 1, 1), site.log


def test_who_enqueues_is_told_and_nothing_is_acknowledged(site: Workshop, disk: SmallDisk) -> None:
    site.enqueue("true", id="before")
    disk.fill()
    refused = site.q("enqueue", "--id", "lost", f"echo {LONG}")
    assert refused.returncode == 3
    assert refused.stdout == ""
    assert refused.stderr.splitlines()[0] == f"error: the disk is full ({site.home / 'queue.db'})"
    assert "Traceback" not in refused.stderr
    assert site.ok("list", "--quiet") == "before\n", "reading goes on"
    disk.free()
    site.ok("enqueue", "--id", "lost", f"echo {LONG}")


def test_no_store_is_half_made(disk: SmallDisk, tmp_path: Path) -> None:
    site = Workshop(tmp_path / "elsewhere")
    disk.fill()
    env = {"QUEUECTL_HOME": str(disk.directory / "new")}
    refused = site.q("enqueue", "--id", "a", "true", env=env)
    assert refused.returncode == 3
    assert "disk is full" in refused.stderr or "No space left" in refused.stderr
    disk.free()
    site.ok("enqueue", "--id", "a", "true", env=env)
    site.close()


def test_jobs_wait_unharmed_until_they_can_be_claimed(site: Workshop, disk: SmallDisk) -> None:
    process = site.serve("--concurrency", "2")
    ids = [site.enqueue(f"true {LONG}", delay="1s") for _ in range(20)]
    disk.fill()
    wait_until(lambda: NOT_NOW in site.log or process.poll() is not None, what="the worker to say so")
    assert process.poll() is None, site.log
    disk.free()
    site.ended(*ids, timeout=60)
    ran_once(site, *ids)


def test_results_wait_until_they_can_be_stored(site: Workshop, disk: SmallDisk, tmp_path: Path) -> None:
    process = site.serve("--concurrency", "4")
    ids = [site.enqueue(UNTIL_GO.format(go=tmp_path / "go") + "seq 1 2000") for _ in range(4)]
    for id in ids:
        site.running(id)
    disk.fill()
    (tmp_path / "go").touch()
    wait_until(lambda: NOT_NOW in site.log or process.poll() is not None, what="the worker to say so")
    assert process.poll() is None, site.log
    disk.free()
    site.ended(*ids)
    ran_once(site, *ids)
    for id in ids:
        assert site.stdout(id).endswith(b"1999\n2000\n")


def test_long_output_without_room_does_not_cost_the_job(
    site: Workshop, disk: SmallDisk, tmp_path: Path
) -> None:
    site.serve()
    id = site.enqueue(UNTIL_GO.format(go=tmp_path / "go") + f"seq 1 200000; touch {tmp_path}/printed")
    site.running(id)
    disk.fill()
    (tmp_path / "go").touch()
    wait_until((tmp_path / "printed").exists, what="the command not to be held up")
    disk.free()
    site.ended(id)
    ran_once(site, id)
    assert site.attempt(id).outcome == kinds.SUCCEEDED
    assert site.attempt(id).output_bytes == 3 + 1_288_895
    assert site.stdout(id).startswith(b"up\n")
    assert site.attempt(id).output_dropped


def test_a_worker_that_finds_no_room_says_so(site: Workshop, disk: SmallDisk) -> None:
    id = site.enqueue(f"true {LONG}")
    disk.fill()
    for how, says in (("--foreground", ("disk is full", "No space left")), ("--count=1", ("disk is full",))):
        refused = site.q("worker", "start", how)
        assert refused.returncode != 0, (how, refused)
        assert "Traceback" not in refused.stderr
        assert any(words in refused.stderr for words in says), refused
    disk.free()
    site.start()
    site.ended(id)
    ran_once(site, id)


def test_a_ledger_that_has_room_only_for_a_part_is_not_left_behind(disk: SmallDisk) -> None:
    """Mapped beyond its end, it would be the death of the worker at some later mark."""
    disk.fill(but=4_096)
    file = disk.directory / "ledger"
    with pytest.raises(OSError, match="No space left"):
        Ledger(str(file), 1_000)
    assert not file.exists()
    disk.free()
    Ledger(str(file), 1_000).close()


def test_the_doctor_tells_it(site: Workshop, disk: SmallDisk) -> None:
    disk.fill()
    told = site.q("doctor")
    assert told.returncode == 1
    assert "0 bytes free on the disk" in told.stdout
