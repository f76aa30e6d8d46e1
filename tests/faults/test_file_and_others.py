"""What others do to the file or around it: hold it, keep reading it, have an old engine, a network below."""

from __future__ import annotations

import os
import shutil
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from queuectl import Queue
from queuectl.errors import StoreError
from queuectl.paths import locate
from queuectl.store.sqlite import SqliteStore
from queuectl.testing import wait_until
from tests.support.home import Home

# Text of one job: written often enough, the log would grow without an end.
COMMAND = "echo " + "x" * 20_000


def hold(file: Path) -> apsw.Connection:
    """As a shell with `BEGIN EXCLUSIVE`, or a backup program, does."""
    db = apsw.Connection(str(file))
    db.set_busy_timeout(5_000)
    db.execute("BEGIN EXCLUSIVE")
    return db


@pytest.mark.proof
def test_a_command_waits_for_whoever_holds_the_file_and_then_says_so(home: Home) -> None:
    home.ok("enqueue", "--id", "a", "true")
    with closing(hold(home.path / "queue.db")) as holder:
        refused = home.q("enqueue", "--id", "b", "true")
        assert refused.returncode == 3
        assert refused.stdout == ""
        assert refused.stderr.startswith("error: the database is locked by another process")
        assert "hint: try again" in refused.stderr
        assert home.ok("list", "--quiet") == "a\n", "readers are not kept out"
        holder.execute("ROLLBACK")
    home.ok("enqueue", "--id", "b", "true")


def test_run_ends_when_its_store_is_gone(home: Home) -> None:
    home.ok("init")
    with home.popen("run", "touch began; sleep 60") as process:
        wait_until((home.work / "began").exists, what="the command to run")
        shutil.rmtree(home.path)
        _, errors = process.communicate(timeout=20)
    assert process.returncode == 3
    assert "deleted or replaced" in errors
    home.ok("init")  # there are tests of what is left


def test_the_log_is_used_anew_when_nobody_reads_its_beginning_any_more(tmp_path: Path) -> None:
    file = tmp_path / "queue.db"
    log = tmp_path / "queue.db-wal"
    with Queue.open(str(file)) as queue:
        queue.enqueue("true")
        reader = apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READONLY)
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM jobs").fetchall()
        write(queue, 300)
        kept = log.stat().st_size
        assert kept > 300 * len(COMMAND), "all of it is kept for the reader"
        reader.execute("ROLLBACK")
        reader.close()
        write(queue, 300)
        write(queue, 300)
        assert log.stat().st_size < kept + 150 * len(COMMAND)
    assert not log.exists() or log.stat().st_size <= 1_000_000, "who closes it last folds a long one in"


def write(queue: Queue, jobs: int) -> None:
    for _ in range(jobs // 10):
        queue.enqueue_many([COMMAND] * 10)


def test_an_engine_that_can_lose_rows_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apsw, "sqlite_lib_version", lambda: "3.50.4")
    with pytest.raises(StoreError, match=r"SQLite 3\.50\.4 can lose committed rows"):
        Queue.open(str(tmp_path / "queue.db"))
    assert os.listdir(tmp_path) == []


def test_no_store_is_made_on_a_network_file_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is none on this machine, so the answer of the system is made up."""
    location, asked = locate(str(tmp_path / "queue.db")), []

    def is_network(directory: str) -> bool:
        asked.append(directory)
        return True

    with pytest.raises(StoreError, match="network file system") as caught:
        SqliteStore(location, create=True, is_network=is_network)
    assert "QUEUECTL_ALLOW_NETWORK_FS" in str(caught.value.hint)
    assert (asked, os.listdir(tmp_path)) == ([str(tmp_path)], [])
    monkeypatch.setenv("QUEUECTL_ALLOW_NETWORK_FS", "1")
    SqliteStore(location, create=True, is_network=is_network).close()
