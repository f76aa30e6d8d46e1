"""Brings a database to the schema of this version: in order, in one transaction each, backed up before.

A database from a newer queuectl is refused; half a migration cannot be seen.
"""

from __future__ import annotations

import os

from queuectl.errors import SchemaTooNew, StoreCorrupt
from queuectl.failpoints import failpoint
from queuectl.store.connection import APPLICATION_ID, Connection

LATEST = 1


def schema_version(connection: Connection) -> int:
    return _pragma(connection, "user_version")


def migrate(connection: Connection, *, latest: int = LATEST, directory: str | None = None) -> int:
    """Apply what is missing; returns the version that was found."""
    found = schema_version(connection)
    if found == latest:
        return found
    _check_ours(connection, found, latest)
    if found:
        backup = f"{connection.file}.before-v{latest}"
        if not os.path.exists(backup):
            connection.backup_to(backup)
    directory = directory or os.path.join(os.path.dirname(__file__), "migrations", "sqlite")
    scripts = sorted(os.listdir(directory))
    for number in range(found + 1, latest + 1):
        name = next(name for name in scripts if name.startswith(f"{number:04d}_"))
        with open(os.path.join(directory, name), encoding="utf-8") as file:
            _apply(connection, number, file.read())
    return found


def _apply(connection: Connection, number: int, script: str) -> None:
    with connection.write("migrate"):
        # Another process may have been first; the version is only sure under the write lock.
        if schema_version(connection) >= number:
            return
        connection.script(script)
        failpoint("migrate.applied")
        connection.script(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.script(f"PRAGMA user_version = {number}")


def _check_ours(connection: Connection, found: int, latest: int) -> None:
    if found > latest:
        raise SchemaTooNew(
            f"{connection.file} was written by a newer queuectl (schema {found}, this one knows "
            f"{latest})",
            "pip install --upgrade queuectl",
        )
    # In this order: another process that is creating the tables sets the id in the same transaction.
    tables = connection.all("SELECT name FROM sqlite_schema LIMIT 1")
    application = _pragma(connection, "application_id")
    if application != APPLICATION_ID and (tables or application):
        raise StoreCorrupt(
            f"{connection.file} is a database of another program",
            "choose another file with --db",
        )


def _pragma(connection: Connection, name: str) -> int:
    return int(connection.all(f"PRAGMA {name}")[0][0])  # type: ignore[call-overload]
