"""The store in a file, from the command line: its names, its mode, and files that cannot be one."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.support.cli import Cli, assert_store_error
from tests.support.fake_worker import FakeWorker

from queuectl.core.outcome import SUCCEEDED
from queuectl.logfiles import log_name
from queuectl.queue import Queue


def test_a_file_can_be_named_as_an_address(cli: Cli, tmp_path: Path, home_dir: Path) -> None:
    file = tmp_path / "other.db"
    assert cli("--db", str(file), "enqueue", "--id", "a", "true").code == 0

    for address in (f"sqlite:///{file}", f"sqlite://{file}", f"SQLITE:///{file}"):
        assert cli(f"--db={address}", "list", "--quiet").out == "a\n"

    assert not home_dir.exists()


def test_of_the_two_variables_the_shorter_wins(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("QUEUECTL_DB", "QUEUECTL_DB_PATH"):
        monkeypatch.setenv(name, str(tmp_path / name))

    assert cli("init").code == 0

    assert (tmp_path / "QUEUECTL_DB").exists()
    assert not (tmp_path / "QUEUECTL_DB_PATH").exists()


def test_the_file_of_the_home_is_private(cli: Cli, home_dir: Path) -> None:
    assert cli("init").code == 0

    assert (home_dir / "queue.db").stat().st_mode & 0o777 == 0o600


def test_output_whose_file_is_gone_was_deleted(cli: Cli, queue: Queue, fake_worker: FakeWorker) -> None:
    """On a server it may as well lie on another machine of the same name."""
    queue.enqueue("true", id="job")
    job = fake_worker.claim("job")
    fake_worker.end(job, SUCCEEDED, log=log_name(job.seq, job.runs), output_bytes=90)

    assert "or was deleted" in cli("logs", "job").err


def test_a_damaged_store_is_refused_and_left_alone(cli: Cli, home_dir: Path) -> None:
    home_dir.mkdir()
    file = home_dir / "queue.db"
    file.write_bytes(os.urandom(8192))
    content = file.read_bytes()

    result = cli("enqueue", "echo hi")

    assert_store_error(result, "is damaged or not a database")
    assert file.read_bytes() == content


def test_a_text_file_is_no_store(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("buy milk\n")

    assert_store_error(cli("--db", str(file), "list"), "is damaged or not a database")

    assert sorted(path.name for path in tmp_path.iterdir()) == ["notes.txt"]
    assert file.read_text() == "buy milk\n"


def test_a_database_of_another_program_is_left_alone(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "theirs.db"
    with closing(sqlite3.connect(file)) as theirs:
        theirs.execute("CREATE TABLE jobs (id TEXT)")
        theirs.commit()
    content = file.read_bytes()

    assert_store_error(cli("list", "--db", str(file)), "is a database of another program")

    assert file.read_bytes() == content
    assert sorted(path.name for path in tmp_path.iterdir()) == ["theirs.db"]


def test_a_store_of_a_newer_version_is_left_alone(cli: Cli, home_dir: Path) -> None:
    assert cli("enqueue", "--id", "old", "echo hi").code == 0
    with closing(sqlite3.connect(home_dir / "queue.db")) as newer:
        newer.execute("PRAGMA user_version = 99")

    assert_store_error(cli("enqueue", "--id", "new", "echo hi"), "was written by a newer queuectl")

    with closing(sqlite3.connect(home_dir / "queue.db")) as newer:
        assert newer.execute("SELECT id FROM jobs").fetchall() == [("old",)]


def test_a_directory_is_no_store(cli: Cli, tmp_path: Path) -> None:
    result = cli("list", "--db", str(tmp_path))
    assert_store_error(result, f"{tmp_path} is a directory")
    assert f"--db {tmp_path}/queue.db" in result.err


def test_a_store_that_somebody_else_may_not_write(cli: Cli, home_dir: Path, tmp_path: Path) -> None:
    """As root everything is writable, so a file system that nobody can write stands in for it."""
    assert_store_error(cli("enqueue", "--db", "/proc/queuectl.db", "echo hi"), "cannot create")
