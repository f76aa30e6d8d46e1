"""A damaged database file: it is refused in our words or works, and is never replaced by a new one."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from queuectl.testing import wait_until
from tests.faults import damage
from tests.faults.damage import JOBS
from tests.support.home import Home
from tests.support.worker_home import WorkerHome

QUICK, ALL = 30, 1_000


@pytest.fixture(scope="module")
def undamaged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return damage.make(tmp_path_factory.mktemp("undamaged") / "home")


def go_through(undamaged: Path, tmp_path: Path, seeds: range) -> int:
    """How many of them were refused."""
    refused = 0
    for seed in seeds:
        file = damage.copy(undamaged, tmp_path / "copy")
        what = damage.flip(file if seed % 3 else file.with_name("queue.db-wal"), seed)
        try:
            said = damage.use(file)
        except Exception as error:
            raise AssertionError(what) from error
        # Half of the jobs are only in the log. What is changed there SQLite takes for the traces of a crash.
        good = (f"{JOBS} jobs", f"{JOBS // 2} jobs") if seed % 3 == 0 else (f"{JOBS} jobs",)
        refused += said not in good
        assert said in good or not said.endswith(" jobs"), f"{what}: {said}"
        shutil.rmtree(tmp_path / "copy")
    return refused


def test_changed_bytes_are_no_traceback(undamaged: Path, tmp_path: Path) -> None:
    assert go_through(undamaged, tmp_path, range(QUICK)) > 0, (
        "most changed bytes are of no table, or of a text"
    )


@pytest.mark.proof
@pytest.mark.parametrize("part", range(4))
def test_changed_bytes_anywhere_are_no_traceback(undamaged: Path, tmp_path: Path, part: int) -> None:
    share = ALL // 4
    seeds = range(QUICK + part * share, QUICK + (part + 1) * share)
    assert go_through(undamaged, tmp_path, seeds) > 20


def test_a_schema_version_that_cannot_be(undamaged: Path, tmp_path: Path) -> None:
    file = damage.copy(undamaged, tmp_path / "copy")
    with closing(sqlite3.connect(file)) as theirs:
        theirs.execute("PRAGMA user_version = -7")
    assert "its schema version is -7" in damage.use(file)


def test_text_that_is_none(undamaged: Path, tmp_path: Path) -> None:
    file = damage.copy(undamaged, tmp_path / "copy")
    with closing(sqlite3.connect(file)) as theirs:
        theirs.execute("UPDATE jobs SET command = CAST(x'6563F96f' AS TEXT) WHERE id = 'job3'")
        theirs.commit()
    said = damage.use(file)
    assert "is damaged or not a database" in said
    assert "utf-8" in said


@pytest.mark.parametrize("length", [1, 15, 99, 100, 511, 512, 4_095, 4_096, 4_097, 40_000])
def test_a_file_that_was_cut_off(undamaged: Path, tmp_path: Path, length: int) -> None:
    """Its log is gone too: nothing of it can be mended from there."""
    file = damage.copy(undamaged, tmp_path / "copy")
    file.with_name("queue.db-wal").unlink()
    os.truncate(file, length)
    said = damage.use(file)
    assert not said.endswith(" jobs"), said
    assert file.stat().st_size == length, "it is left as it was found"


def test_a_missing_log_takes_what_was_in_it_and_no_more(undamaged: Path, tmp_path: Path) -> None:
    """Nobody can tell that it was ever there; what is in the file itself is whole."""
    file = damage.copy(undamaged, tmp_path / "copy")
    file.with_name("queue.db-wal").unlink()
    assert damage.use(file) == f"{JOBS // 2} jobs"


@pytest.mark.parametrize("length", [0, 31, 32, 4_000, 20_000])
def test_a_log_that_was_cut_off(undamaged: Path, tmp_path: Path, length: int) -> None:
    file = damage.copy(undamaged, tmp_path / "copy")
    os.truncate(file.with_name("queue.db-wal"), length)
    assert damage.use(file) == f"{JOBS // 2} jobs"


def test_the_log_of_another_store(undamaged: Path, tmp_path: Path) -> None:
    """SQLite cannot know whose it is; what comes of that must not be a traceback, nor a new file."""
    file = damage.copy(undamaged, tmp_path / "copy")
    other = damage.make(tmp_path / "other", prefix="other")
    shutil.copy(other.with_name("queue.db-wal"), file.with_name("queue.db-wal"))
    damage.use(file)


def test_commands_refuse_it_with_one_line_and_leave_the_file(home: Home) -> None:
    home.ok("enqueue", "--id", "a", "true")
    file = home.path / "queue.db"
    with closing(sqlite3.connect(file)) as theirs:
        theirs.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    undamaged, content = file.read_bytes(), bytearray(file.read_bytes())
    content[100:4_096] = bytes(3_996)
    file.write_bytes(content)
    for words in (["enqueue", "true"], ["list"], ["worker", "start", "--foreground"]):
        refused = home.q(*words)
        assert refused.returncode == 3, (words, refused)
        assert refused.stderr.startswith(f"error: {file} is damaged"), (words, refused)
        assert "Traceback" not in refused.stderr
    assert file.read_bytes() == content
    file.write_bytes(undamaged)


def test_a_log_that_vanishes_under_a_living_worker_is_no_traceback(tmp_path: Path) -> None:
    """Unix keeps the deleted file for whoever has it open; either way in its own words."""
    home = WorkerHome(tmp_path / "home")
    try:
        process = home.serve()
        home.run("true")
        for name in ("queue.db-wal", "queue.db-shm"):
            (home.path / name).unlink()
        damage.use(home.path / "queue.db")
        process.send_signal(signal.SIGTERM)
        wait_until(lambda: process.poll() is not None, timeout=40, what="the worker to end")
        assert "Traceback" not in home.log
    finally:
        home.close()
