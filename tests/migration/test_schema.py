"""Schemas: fresh ones, old ones that are brought forward, and what is refused without a touch."""

from __future__ import annotations

import os
import re
import sqlite3
import stat
from pathlib import Path

import pytest
from tests.concurrency.roles import migrator
from tests.migration.places import (
    SHIPPED,
    ask,
    connect,
    first_database,
    future,
    ids,
    old_database,
    open_at,
    version,
)
from tests.migration.shapes import shape_of_file
from tests.support.jobs import claim, register
from tests.support.together import run_together

from queuectl.core.queue_rules import QUEUE_COLUMNS
from queuectl.core.rows import ATTEMPT_COLUMNS, JOB_COLUMNS
from queuectl.core.schedules import SCHEDULE_COLUMNS
from queuectl.errors import SchemaTooNew, StoreCorrupt, StoreError
from queuectl.store.messages import WORKER_COLUMNS
from queuectl.store.migrate import LATEST, migrate, schema_version
from queuectl.store.sqlite_opening import APPLICATION_ID

NEW_COLUMN = "ALTER TABLE jobs ADD COLUMN colour TEXT;"
NEW_TABLE = "CREATE TABLE shades (name TEXT) STRICT; INSERT INTO shades VALUES ('dark');"


def everything_in(directory: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(directory)): path.read_bytes() if path.is_file() else b""
        for path in directory.rglob("*")
    }


def test_a_fresh_database_has_the_latest_schema_and_our_mark(tmp_path: Path) -> None:
    open_at(tmp_path / "q.db").close()
    assert version(tmp_path / "q.db") == LATEST
    assert ask(tmp_path / "q.db", "PRAGMA application_id") == [(APPLICATION_ID,)]


def test_the_shipped_migrations_are_numbered_without_gaps() -> None:
    names = sorted(path.name for path in SHIPPED.glob("*"))
    assert [int(name[:4]) for name in names] == list(range(1, LATEST + 1))
    assert all(re.fullmatch(r"\d{4}_[a-z_]+\.sql", name) for name in names)


def test_the_columns_that_the_code_names_are_those_of_the_tables(tmp_path: Path) -> None:
    open_at(tmp_path / "q.db").close()
    tables = {
        "jobs": JOB_COLUMNS,
        "workers": WORKER_COLUMNS,
        "attempts": ("job_seq", *ATTEMPT_COLUMNS),
        "queues": QUEUE_COLUMNS,
        "schedules": SCHEDULE_COLUMNS,
    }
    for table, columns in tables.items():
        stored = [row[1] for row in ask(tmp_path / "q.db", f"PRAGMA table_info({table})")]
        assert sorted(stored) == sorted(columns)


def test_an_empty_file_becomes_a_database(tmp_path: Path) -> None:
    (tmp_path / "q.db").touch()
    open_at(tmp_path / "q.db").close()
    assert version(tmp_path / "q.db") == LATEST


def test_opening_again_changes_nothing(tmp_path: Path) -> None:
    old_database(tmp_path / "q.db")
    assert len(ids(tmp_path / "q.db")) == 50  # reading it so also empties the write-ahead log
    before = (tmp_path / "q.db").read_bytes()
    open_at(tmp_path / "q.db").close()
    open_at(tmp_path / "q.db", create=False).close()
    assert (tmp_path / "q.db").read_bytes() == before


def test_who_only_looks_makes_no_database(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="there is no database"):
        open_at(tmp_path / "q.db", create=False)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("create", [True, False])
def test_a_newer_schema_is_refused_and_left_alone(tmp_path: Path, create: bool) -> None:
    file = old_database(tmp_path / "q.db")
    (tmp_path / "q.db.d").rmdir()
    ask(file, f"PRAGMA user_version = {LATEST + 1}")
    before = file.read_bytes()
    with pytest.raises(SchemaTooNew, match=f"schema {LATEST + 1}") as caught:
        open_at(file, create=create)
    assert caught.value.hint == "pip install --upgrade queuectl"
    assert file.read_bytes() == before
    assert not (tmp_path / "q.db.d").exists()
    assert not list(tmp_path.glob("*before*"))


@pytest.mark.parametrize("mode", ["DELETE", "WAL"])
@pytest.mark.parametrize("user_version", [0, LATEST, LATEST + 5])
@pytest.mark.parametrize("application_id", [0, 0x1234])
def test_the_database_of_another_program_is_refused_without_a_trace(
    tmp_path: Path, mode: str, user_version: int, application_id: int
) -> None:
    file = tmp_path / "bookmarks.db"
    other = sqlite3.connect(file)
    other.execute(f"PRAGMA journal_mode = {mode}")
    other.execute("CREATE TABLE jobs (title TEXT)")
    other.execute("INSERT INTO jobs VALUES ('plumber')")
    other.execute(f"PRAGMA user_version = {user_version}")
    other.execute(f"PRAGMA application_id = {application_id}")
    other.commit()
    other.close()
    before = everything_in(tmp_path)
    for create in (True, False):
        with pytest.raises(StoreCorrupt, match="another program"):
            open_at(file, create=create)
    assert everything_in(tmp_path) == before


def test_the_mark_of_another_program_is_respected_on_an_empty_database_too(tmp_path: Path) -> None:
    file = tmp_path / "x.db"
    ask(file, "PRAGMA application_id = 4660")
    before = everything_in(tmp_path)
    with pytest.raises(StoreCorrupt, match="another program"):
        open_at(file)
    assert everything_in(tmp_path) == before


@pytest.mark.parametrize(
    "content",
    [
        b"hello, I am a text file\n",
        b"xy",
        b"\0" * 4096,
        bytes(range(256)) * 64,
        b"SQLite format 3\0" + b"\xff" * 5_000,
        b"SQLite format 3\0",
    ],
)
def test_what_is_no_database_is_refused_and_left_alone(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "notes.txt"
    file.write_bytes(content)
    with pytest.raises(StoreError) as caught:
        open_at(file)
    assert str(file) in caught.value.message
    assert caught.value.hint
    assert everything_in(tmp_path) == {"notes.txt": content}


def test_a_directory_is_no_database(tmp_path: Path) -> None:
    (tmp_path / "dir").mkdir()
    with pytest.raises(StoreError):
        open_at(tmp_path / "dir")
    assert [path.name for path in tmp_path.rglob("*")] == ["dir"]


def test_an_older_schema_is_brought_forward_after_a_backup(tmp_path: Path) -> None:
    file = old_database(tmp_path / "q.db")
    connection = connect(file)
    assert migrate(connection, latest=LATEST + 1, directory=future(tmp_path / "m", NEW_COLUMN)) == LATEST
    assert schema_version(connection) == LATEST + 1
    connection.close()
    backup = tmp_path / f"q.db.before-v{LATEST + 1}"
    assert (version(file), version(backup)) == (LATEST + 1, LATEST)
    assert ids(file) == ids(backup) == [f"j{n}" for n in range(50)]
    assert ask(file, "SELECT DISTINCT colour FROM jobs") == [(None,)]
    assert not list(tmp_path.glob("*.tmp*"))


def test_several_steps_are_taken_in_order_after_one_backup(tmp_path: Path) -> None:
    file = old_database(tmp_path / "q.db")
    directory = future(tmp_path / "m", NEW_COLUMN, NEW_TABLE, "UPDATE jobs SET colour = 'red';")
    connection = connect(file)
    assert migrate(connection, latest=LATEST + 3, directory=directory) == LATEST
    assert migrate(connection, latest=LATEST + 3, directory=directory) == LATEST + 3
    connection.close()
    assert ask(file, "SELECT DISTINCT colour FROM jobs") == [("red",)]
    assert ask(file, "SELECT name FROM shades") == [("dark",)]
    assert [path.name for path in tmp_path.glob("*before*")] == [f"q.db.before-v{LATEST + 3}"]


def test_a_fresh_database_goes_through_all_steps_without_a_backup(tmp_path: Path) -> None:
    (tmp_path / "q.db").touch()
    connection = connect(tmp_path / "q.db")
    assert migrate(connection, latest=LATEST + 1, directory=future(tmp_path / "m", NEW_COLUMN)) == 0
    connection.close()
    assert version(tmp_path / "q.db") == LATEST + 1
    assert not list(tmp_path.glob("*before*"))


def test_the_backup_is_always_of_now_and_private(tmp_path: Path) -> None:
    file = old_database(tmp_path / "q.db")
    stale = tmp_path / f"q.db.before-v{LATEST + 1}"
    stale.write_text("half of an older backup")
    before = os.umask(0)
    try:
        connection = connect(file)
        migrate(connection, latest=LATEST + 1, directory=future(tmp_path / "m", NEW_COLUMN))
        connection.close()
    finally:
        os.umask(before)
    assert len(ids(stale)) == 50
    assert stat.S_IMODE(stale.stat().st_mode) == 0o600


def test_a_migration_that_fails_leaves_the_old_schema_and_the_backup(tmp_path: Path) -> None:
    file = old_database(tmp_path / "q.db")
    directory = future(tmp_path / "m", NEW_COLUMN + "INSERT INTO nowhere VALUES (1);")
    connection = connect(file)
    with pytest.raises(StoreError, match="nowhere"):
        migrate(connection, latest=LATEST + 1, directory=directory)
    connection.close()
    assert version(file) == LATEST
    assert len(ids(file)) == len(ids(tmp_path / f"q.db.before-v{LATEST + 1}")) == 50
    store = open_at(file)
    assert store.get("j7") is not None
    store.close()


def test_many_processes_migrate_at_once_and_one_does_it(tmp_path: Path) -> None:
    file = old_database(tmp_path / "q.db")
    directory = future(tmp_path / "m", NEW_COLUMN, NEW_TABLE)
    run_together([(migrator, (str(file), LATEST + 2, directory)) for _ in range(6)])
    assert version(file) == LATEST + 2
    assert version(tmp_path / f"q.db.before-v{LATEST + 2}") == LATEST
    assert ask(file, "SELECT count(*) FROM shades") == [(1,)]
    assert len(ids(file)) == len(ids(tmp_path / f"q.db.before-v{LATEST + 2}")) == 50


def test_a_database_of_the_first_version_comes_forward_with_its_jobs(tmp_path: Path) -> None:
    file = first_database(tmp_path / "q.db")
    before = ask(file, "SELECT * FROM jobs ORDER BY seq")
    columns = ", ".join(str(row[1]) for row in ask(file, "PRAGMA table_info(jobs)"))
    assert version(file) == 1

    store = open_at(file, create=False)
    register(store)
    assert [job.id for job in claim(store, 50)] == [f"j{n}" for n in range(50)]
    store.close()

    backup = tmp_path / f"q.db.before-v{LATEST}"
    assert (version(file), version(backup)) == (LATEST, 1)
    assert ask(backup, f"SELECT {columns} FROM jobs ORDER BY seq") == before
    open_at(tmp_path / "new.db").close()
    assert shape_of_file(file) == shape_of_file(tmp_path / "new.db")


def test_nothing_of_an_old_job_is_changed_on_the_way_forward(tmp_path: Path) -> None:
    file = first_database(tmp_path / "q.db")
    columns = ", ".join(str(row[1]) for row in ask(file, "PRAGMA table_info(jobs)"))
    before = ask(file, f"SELECT {columns} FROM jobs ORDER BY seq")
    open_at(file).close()
    assert ask(file, f"SELECT {columns} FROM jobs ORDER BY seq") == before
    new = sorted(set(JOB_COLUMNS) - set(columns.split(", ")))
    assert len(new) == 13
    assert ask(file, f"SELECT DISTINCT {', '.join(new)} FROM jobs") == [(None,) * 13]
