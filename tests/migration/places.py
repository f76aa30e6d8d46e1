"""Databases as a test finds them: their versions, their content, and migrations of the future."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING

from tests.support.jobs import add

import queuectl.store.migrate
from queuectl.paths import Location
from queuectl.store.migrate import migrate
from queuectl.store.open import open_store
from queuectl.store.sqlite_connection import SqliteConnection as Connection

if TYPE_CHECKING:
    from queuectl.store.api import Store

SHIPPED = Path(queuectl.store.migrate.__file__).parent / "migrations" / "sqlite"


def open_at(file: Path, *, create: bool = True) -> Store:
    return open_store(Location(str(file), str(file), f"{file}.d"), create=create)


def connect(file: Path) -> Connection:
    """The bare connection, which knows nothing of schemas."""
    return Connection(str(file), create=False, busy_ms=10_000)


def old_database(file: Path, jobs: int = 50) -> Path:
    """A database of this version's schema with some jobs in it."""
    store = open_at(file)
    add(store, *(f"j{n}" for n in range(jobs)))
    store.close()
    return file


def first_job(name: str) -> str:
    """What the first version wrote for a new job."""
    return (
        "INSERT INTO jobs (id, command, queue, state, priority, attempts, max_retries, lost, runs, "
        "run_at, created_at, updated_at, cancel_requested) "
        f"VALUES ('{name}', 'echo {name}', 'default', 'pending', 0, 0, 3, 0, 0, 1000, 1000, 1000, 0)"
    )


def first_database(file: Path, jobs: int = 50) -> Path:
    """A database that the first version has made, with some jobs in it."""
    file.touch(mode=0o600)
    connection = connect(file)
    migrate(connection, latest=1)
    connection.close()
    for number in range(jobs):
        ask(file, first_job(f"j{number}"))
    return file


def future(directory: Path, *scripts: str) -> str:
    """A directory of migrations: the shipped ones, and then these."""
    directory.mkdir()
    shipped = sorted(SHIPPED.glob("*.sql"))
    for path in shipped:
        shutil.copy(path, directory)
    for number, script in enumerate(scripts, len(shipped) + 1):
        (directory / f"{number:04d}_future.sql").write_text(script)
    return str(directory)


def ask(file: Path, sql: str) -> list[tuple[object, ...]]:
    """What another program with another library reads; only while nobody of ours has the file open."""
    with sqlite3.connect(file) as connection:
        rows = connection.execute(sql).fetchall()
    connection.close()
    return rows


def version(file: Path) -> object:
    return ask(file, "PRAGMA user_version")[0][0]


def ids(file: Path) -> list[object]:
    return [row[0] for row in ask(file, "SELECT id FROM jobs ORDER BY seq")]
