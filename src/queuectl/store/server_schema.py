"""Brings a server's schema to this version: under a lock that two machines cannot hold at once.

PostgreSQL does it in one transaction. MySQL commits each statement by itself, so there a migration that died
half-way is done again from its beginning, and what exists already is no error.
"""

from __future__ import annotations

import os

from queuectl.errors import StoreBusy, StoreCorrupt, StoreError, StoreMissing
from queuectl.failpoints import failpoint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from queuectl.store.server_connection import ServerConnection

LATEST = 5
_LOCK_SECONDS = 60
# A table, a column or an index that is there already, or gone already.
_DONE_BEFORE = (1050, 1060, 1061, 1091)


class MissingTable(StoreError):
    """The tables are not there: a new place, or one that is not ours."""

    lasting = True


def schema_version(connection: ServerConnection) -> int:
    """0: there is no queue here yet."""
    try:
        row = connection.one("SELECT version FROM queuectl_schema")
    except MissingTable:
        return 0
    return int(str(row[0])) if row else 0


def prepare(connection: ServerConnection, *, create: bool, latest: int = LATEST, directory: str = "") -> None:
    """Make or bring up to date what is missing; refuse what is too new, or somebody else's."""
    found = schema_version(connection)
    if found == latest:
        return
    if found > latest:
        if not is_compatible(connection, found, latest):
            from queuectl.store.compatibility import too_new

            raise too_new(connection.shown, found, latest)
        return
    if found == 0 and not create:
        _refuse_foreign(connection, _tables(connection))
        _refuse_closed(connection)
        raise StoreMissing(f"there is no queue at {connection.shown}", "queuectl init makes one")
    scripts = _scripts(connection.dialect.name, directory)
    if connection.dialect.name == "postgres":
        _migrate_postgres(connection, scripts, latest)
    else:
        _migrate_mysql(connection, scripts, latest)


def is_compatible(connection: ServerConnection, found: int, latest: int = LATEST) -> bool:
    """Whether this program may use a schema that is newer than its own."""
    from queuectl.store.compatibility import goes_on

    try:
        return goes_on(connection, found, latest)
    except MissingTable:
        return False


def _scripts(engine: str, directory: str) -> dict[int, str]:
    directory = directory or os.path.join(os.path.dirname(__file__), "migrations", engine)
    scripts = {}
    for name in sorted(os.listdir(directory)):
        with open(os.path.join(directory, name), encoding="utf-8") as file:
            scripts[int(name.partition("_")[0])] = file.read()
    return scripts


def _migrate_postgres(connection: ServerConnection, scripts: dict[int, str], latest: int) -> None:
    driver: Any = connection.driver

    def body(_: int | None) -> int:
        # Ends with the transaction, so it works behind PgBouncer as well.
        connection.all("SELECT pg_advisory_xact_lock(hashtext(?))", (driver.channel,))
        connection.script(f'CREATE SCHEMA IF NOT EXISTS "{driver.schema}"')
        found = _version_in_postgres(connection)
        for number in range(found + 1, latest + 1):
            connection.script(scripts[number])
            failpoint("migrate.applied")
            connection.script("DELETE FROM queuectl_schema")
            connection.script(f"INSERT INTO queuectl_schema (version) VALUES ({number})")
        return latest

    connection.write("migrate", body)


def _version_in_postgres(connection: ServerConnection) -> int:
    """Asked of the catalogue: in a transaction a missing table would end it."""
    names = _tables(connection)
    _refuse_foreign(connection, names)
    if "queuectl_schema" in names:
        return int(str(connection.all("SELECT version FROM queuectl_schema")[0][0]))
    return 0


def _tables(connection: ServerConnection) -> set[object]:
    driver: Any = connection.driver
    if connection.dialect.name == "postgres":
        found = connection.all("SELECT tablename FROM pg_tables WHERE schemaname = ?", (driver.schema,))
    else:
        found = connection.all("SHOW TABLES")
    return {row[0] for row in found}


def _migrate_mysql(connection: ServerConnection, scripts: dict[int, str], latest: int) -> None:
    driver: Any = connection.driver
    lock = f"queuectl.{driver.database}"[:64]
    if connection.all("SELECT GET_LOCK(?, ?)", (lock, _LOCK_SECONDS))[0][0] != 1:
        raise StoreBusy("another machine is preparing this database", "try again in a minute")
    try:
        _refuse_foreign(connection, _tables(connection))
        # First, so that what a killed migration left behind is known as ours.
        connection.script("CREATE TABLE IF NOT EXISTS queuectl_schema (version INT NOT NULL) ENGINE = InnoDB")
        for number in range(schema_version(connection) + 1, latest + 1):
            _apply_to_mysql(driver, scripts[number])
            failpoint("migrate.applied")
            connection.write("migrate", lambda _, number=number: _set_version(connection, number))  # type: ignore[misc]
    finally:
        connection.all("SELECT RELEASE_LOCK(?)", (lock,))


def _apply_to_mysql(driver: Any, script: str) -> None:
    for statement in filter(None, (part.strip() for part in script.split(";\n"))):
        try:
            driver.script(statement)
        except driver.errors as error:
            if error.args[0] not in _DONE_BEFORE:
                raise driver.translate(error, "migration") from error
        failpoint("migrate.step")


def _set_version(connection: ServerConnection, number: int) -> int:
    connection.run("DELETE FROM queuectl_schema")
    return connection.run("INSERT INTO queuectl_schema (version) VALUES (?)", (number,))


def _refuse_foreign(connection: ServerConnection, names: set[object]) -> None:
    if "queuectl_schema" not in names and names & {"jobs", "attempts", "workers", "config"}:
        raise StoreCorrupt(
            f"{connection.shown} holds tables of another program",
            "give queuectl a place of its own: another database, or ?schema=NAME on PostgreSQL",
        )


def _refuse_closed(connection: ServerConnection) -> None:
    """Who may not enter a schema of PostgreSQL is told that there are no tables, which is not true."""
    if connection.dialect.name != "postgres":
        return
    driver: Any = connection.driver
    entry = "SELECT has_schema_privilege(oid, 'USAGE') FROM pg_namespace WHERE nspname = ?"
    if connection.all(entry, (driver.schema,)) == [(False,)]:
        error = StoreError(
            f"this user may not use schema {driver.schema} ({connection.shown})",
            f'as its owner: GRANT USAGE ON SCHEMA "{driver.schema}" TO …, and the rights on its tables',
        )
        error.lasting = True
        raise error
