"""Brings a database to this version's schema: in order, in one transaction, after a backup.

A newer schema is refused, unless it says that we may use it. A version in between is never seen: who met one
would take a store that is being made for one to be backed up. Databases of other programs are refused
earlier, by the connection.
"""

from __future__ import annotations

import os

from queuectl.errors import StoreCorrupt
from queuectl.failpoints import failpoint
from queuectl.store.sqlite_connection import SqliteConnection
from queuectl.store.sqlite_opening import APPLICATION_ID

LATEST = 5

OUR_TABLES = (
    "jobs", "attempts", "workers", "config", "dependencies", "unsettled", "queues", "job_groups", "schedules",
    "tallies", "history", "runtimes", "compatibility",
)  # fmt: skip


_SHAPES = f"""SELECT name, type, strict FROM pragma_table_list
    WHERE schema = 'main' AND name IN ({", ".join("?" * len(OUR_TABLES))})"""


def schema_version(connection: SqliteConnection) -> int:
    return int(str(connection.all("PRAGMA user_version")[0][0]))


def migrate(connection: SqliteConnection, *, latest: int = LATEST, directory: str | None = None) -> int:
    """Apply what is missing; returns the version that was found."""
    found = schema_version(connection)
    if found:
        _refuse_foreign_tables(connection)
    if found == latest:
        return found
    if found < 0:
        raise StoreCorrupt(
            f"{connection.file} is damaged: its schema version is {found}",
            "nothing was changed; restore a backup, or choose another file with --db",
        )
    if found > latest:
        if not is_compatible(connection, found, latest):
            from queuectl.store.compatibility import too_new

            raise too_new(connection.file, found, latest)
        return found
    _bring_up(
        connection, latest, directory or os.path.join(os.path.dirname(__file__), "migrations", "sqlite")
    )
    return found


def is_compatible(connection: SqliteConnection, found: int, latest: int = LATEST) -> bool:
    """Whether this program may use a schema that is newer than its own."""
    from queuectl.store.compatibility import goes_on

    known = connection.all("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'compatibility'")
    return bool(known) and goes_on(connection, found, latest)


def _refuse_foreign_tables(connection: SqliteConnection) -> None:
    """Ours are STRICT: what is read from them has the type that it should have. A crafted file may differ."""
    for name, kind, strict in connection.all(_SHAPES, OUR_TABLES):
        if kind != "table" or not strict:
            raise StoreCorrupt(
                f"{connection.file}: {kind} {str(name)[:60]!r} is not as queuectl made it",
                "do not use this file; restore a backup, or choose another one with --db",
            )


def _bring_up(connection: SqliteConnection, latest: int, directory: str) -> None:
    scripts = sorted(os.listdir(directory))
    with connection.transaction("migrate"):
        # Another process may have been first; the version is only sure under the write lock.
        found = schema_version(connection)
        if found >= latest:
            return
        if found:
            from queuectl.store.snapshots import back_up

            # Also under the lock, so that it can neither miss a job nor be of the new schema.
            back_up(connection.file, f"{connection.file}.before-v{latest}")
            failpoint("migrate.backed_up")
        for number in range(found + 1, latest + 1):
            name = next(name for name in scripts if name.startswith(f"{number:04d}_"))
            with open(os.path.join(directory, name), encoding="utf-8") as file:
                connection.script(file.read())
            failpoint("migrate.applied")
        connection.script(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.script(f"PRAGMA user_version = {latest}")
