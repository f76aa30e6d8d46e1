"""A disk that fails while a transaction is being synced: it stands in the log, and may count later."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from queuectl import Queue
from queuectl.errors import OutcomeUnknown
from queuectl.store.messages import Ask
from tests.support.jobs import HOST, NOW, register


class Disk(apsw.VFS):
    """The one that SQLite knows, until its syncs fail."""

    def __init__(self) -> None:
        self.usual = apsw.vfs_names()[0]
        super().__init__("failing-disk", self.usual, makedefault=True)
        self.fails = False

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:
        return File(self, name, flags)


class File(apsw.VFSFile):
    def __init__(self, disk: Disk, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        super().__init__(disk.usual, name, flags)
        self._disk = disk

    def xSync(self, flags: int) -> None:
        if self._disk.fails:
            raise apsw.IOError("the disk is broken")
        super().xSync(flags)


@pytest.fixture
def disk() -> Iterator[Disk]:
    disk = Disk()
    yield disk
    disk.unregister()


def test_a_job_whose_sync_failed_is_not_said_to_be_absent(tmp_path: Path, disk: Disk) -> None:
    with Queue.open(str(tmp_path / "q.db")) as queue:
        disk.fails = True
        with pytest.raises(OutcomeUnknown, match="not known"):
            queue.enqueue("true", id="j")
        disk.fails = False
    # All have closed it: whoever opens it now reads the log anew.
    with Queue.open(str(tmp_path / "q.db")) as queue:
        assert queue.enqueue("true", id="j", if_exists="skip").id == "j"
        assert queue.stats().counts["pending"] == 1


def test_a_claim_whose_sync_failed_is_asked_for_again_and_not_forgotten(tmp_path: Path, disk: Disk) -> None:
    with Queue.open(str(tmp_path / "q.db")) as queue:
        queue.enqueue("true", id="j")
        register(queue.store, "w1")
        ask = Ask("w1", "c" * 20, 1)
        disk.fails = True
        with pytest.raises(OutcomeUnknown):
            queue.store.exchange("w1", HOST, [], ask, NOW)
        disk.fails = False
    with Queue.open(str(tmp_path / "q.db")) as queue:
        assert queue.get("j").state == "processing"  # the claim counts now, and w1 must hear of it
        ask.again = True
        claimed = queue.store.exchange("w1", HOST, [], ask, NOW).jobs
    assert [job.id for job in claimed] == ["j"]
