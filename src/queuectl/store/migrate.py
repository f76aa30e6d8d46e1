"""Brings a database to this version's schema: in order, one transaction each, after a backup.

A newer schema is refused; half a migration cannot be seen. Databases of other programs are refused
earlier, by the connection.
"""

from __future__ import annotations

import os

from queuectl.errors import SchemaTooNew, StoreCorrupt
from queuectl.failpoints import failpoint
from queuectl.store.sqlite_connection import APPLICATION_ID, SqliteConnection

LATEST = 4

OUR_TABLES = (
    "jobs", "attempts", "workers", "config", "dependencies", "unsettled", "queues", "job_groups", "schedules",
    "tallies", "history",
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
        raise SchemaTooNew(
            f"{connection.file} was written by a newer queuectl (schema {found}, this one knows {latest})",
            "pip install --upgrade queuectl",
        )
    directory = directory or os.path.join(os.path.dirname(__file__), "migrations", "sqlite")
    scripts = sorted(os.listdir(directory))
    for number in range(found + 1, latest + 1):
        name = next(name for name in scripts if name.startswith(f"{number:04d}_"))
        with open(os.path.join(directory, name), encoding="utf-8") as file:
            script = file.read()
        backup = f"{connection.file}.before-v{latest}" if found and number == found + 1 else None
        _apply(connection, number, script, backup)
    return found


def _refuse_foreign_tables(connection: SqliteConnection) -> None:
    """Ours are STRICT: what is read from them has the type that it should have. A crafted file may differ."""
    for name, kind, strict in connection.all(_SHAPES, OUR_TABLES):
        if kind != "table" or not strict:
            raise StoreCorrupt(
                f"{connection.file}: {kind} {str(name)[:60]!r} is not as queuectl made it",
                "do not use this file; restore a backup, or choose another one with --db",
            )


def _apply(connection: SqliteConnection, number: int, script: str, backup: str | None) -> None:
    with connection.transaction("migrate"):
        # Another process may have been first; the version is only sure under the write lock.
        if schema_version(connection) >= number:
            return
        if backup is not None:
            # Also under the lock, so that it can neither miss a job nor be of the new schema.
            connection.backup_to(backup)
            failpoint("migrate.backed_up")
        connection.script(script)
        failpoint("migrate.applied")
        connection.script(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.script(f"PRAGMA user_version = {number}")
