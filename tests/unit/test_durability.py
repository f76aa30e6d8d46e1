"""What is acknowledged is on the disk: counted where SQLite and the program ask the system for it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest
from tests.support.fake_worker import FakeWorker

from queuectl.cli.main import main
from queuectl.core.chunks import STDOUT
from queuectl.core.job import Job
from queuectl.queue import Queue
from queuectl.worker.output import Output


class Disk(apsw.VFS):
    """The usual way of SQLite to its files, which notes what it syncs."""

    def __init__(self) -> None:
        self.synced: list[str] = []  # names of files
        super().__init__("noting", "unix", makedefault=True)

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:
        return File(self, name, flags)


class File(apsw.VFSFile):
    def __init__(self, disk: Disk, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        self._disk = disk
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        self._name = os.path.basename(path or "")
        super().__init__("unix", name, flags)

    def xSync(self, flags: int) -> None:
        self._disk.synced.append(self._name)
        super().xSync(flags)


@pytest.fixture
def disk() -> Iterator[Disk]:
    disk = Disk()
    yield disk
    disk.unregister()


@pytest.fixture
def home_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [name for name in os.environ if name.startswith("QUEUECTL_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("QUEUECTL_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def queue(disk: Disk, home_dir: Path) -> Iterator[Queue]:
    with Queue.open() as queue:
        yield queue


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files and directories that the program itself syncs, by the names that they have at that moment."""
    found: list[Path] = []
    fsync = os.fsync

    def note(fd: int) -> None:
        found.append(Path(os.readlink(f"/proc/self/fd/{fd}")))
        fsync(fd)

    monkeypatch.setattr(os, "fsync", note)
    return found


@pytest.mark.parametrize("jobs", [1, 1_000])
def test_jobs_that_are_enqueued_are_on_the_disk_after_one_sync(queue: Queue, disk: Disk, jobs: int) -> None:
    disk.synced.clear()
    queue.enqueue_many(["true"] * jobs)
    assert disk.synced == ["queue.db-wal"]


def test_a_claim_and_a_result_are_each_on_the_disk_after_one_sync(queue: Queue, disk: Disk) -> None:
    queue.enqueue("true", id="a")
    worker = FakeWorker(queue)
    disk.synced.clear()
    job = worker.claim("a")
    assert disk.synced == ["queue.db-wal"]
    worker.end(job, "succeeded", exit_code=0)
    assert disk.synced == ["queue.db-wal"] * 2


def test_who_wants_speed_more_than_safety_does_not_wait_for_the_disk(queue: Queue, disk: Disk) -> None:
    queue.set_config("durability", "normal")
    with Queue.open() as relaxed:
        disk.synced.clear()
        relaxed.enqueue("true")
        assert disk.synced == []


def test_a_log_is_on_the_disk_before_its_job_has_ended(tmp_path: Path, synced: list[Path]) -> None:
    """Its name is stored with the result: a power loss must not leave the name without the log."""
    job = Job()
    job.seq, job.runs = 7, 1
    output = Output(str(tmp_path), job, inline=100, limit=10_000)
    for _ in range(100):
        output.feed(STDOUT, 0, b"x" * 500)  # so long that only its beginning and its end are kept
    _, log, _ = output.finish()
    assert log is not None
    parts = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(parts) > 1
    assert sorted(synced) == sorted(parts)


@pytest.mark.parametrize("command", ["export", "backup"])
def test_a_file_has_its_name_after_its_content_is_on_the_disk(
    command: str, tmp_path: Path, queue: Queue, synced: list[Path]
) -> None:
    queue.enqueue("true")
    file = tmp_path / "target" / "file"
    file.parent.mkdir()
    synced.clear()
    assert main([command, str(file)]) == 0
    assert file.exists()
    assert file not in synced, "it had its name before"
    *content, directory = synced
    assert {path.parent for path in content} == {file.parent}
    assert directory == file.parent, "the name itself has to be on the disk too"
