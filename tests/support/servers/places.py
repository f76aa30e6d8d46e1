"""Fresh, empty places for queues on a server: a schema of PostgreSQL, a database of MariaDB.

Which server is left to found.py.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from typing import Any

import psycopg
import pymysql

from queuectl.testing import wait_until
from tests.support.servers import admin
from tests.support.servers.admin import at_exit
from tests.support.servers.urls import engine_of, split_database, split_schema, with_database, with_schema

_OURS = re.compile(r"(?:queuectl_)?t_[0-9a-f]{12}")
_PATIENCE = 15.0

# Who stands in the way of dropping the schema: holders of locks on what is in it, or on it.
_IN_THE_WAY = """
SELECT activity.pid, activity.application_name
FROM pg_locks AS locks
JOIN pg_stat_activity AS activity USING (pid)
LEFT JOIN pg_class AS relations ON locks.locktype = 'relation' AND relations.oid = locks.relation
WHERE locks.database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND locks.granted
  AND locks.pid <> pg_backend_pid()
  AND to_regnamespace(%(schema)s) IN (
    relations.relnamespace,
    CASE WHEN locks.locktype = 'object' AND locks.classid = 'pg_namespace'::regclass THEN locks.objid END
  )
"""

_TERMINATE = f"""
SELECT pg_terminate_backend(pid)
FROM ({_IN_THE_WAY}) AS others
WHERE application_name LIKE 'queuectl%%'
"""

# Another transaction was in the way: a lock, a deadlock, a change of the same catalogue row.
_OTHERS_WERE_THERE = (
    psycopg.errors.LockNotAvailable,
    psycopg.errors.DeadlockDetected,
    psycopg.errors.InternalError_,
)
_MYSQL_LOCK_WAIT, _MYSQL_DEADLOCK, _MYSQL_NO_SUCH_THREAD = 1205, 1213, 1094

_handed_out: set[str] = set()


def fresh_url(engine: str) -> str:
    """A fresh place on the server of the run. What a test does not drop is dropped when the process ends."""
    from tests.support.servers.found import base_url

    url = fresh_on(base_url(engine))
    _handed_out.add(url)
    return url


def fresh_on(base_url: str) -> str:
    """A fresh place on that server. A schema is not created: queuectl does that itself."""
    name = f"t_{secrets.token_hex(6)}"
    if engine_of(base_url) == "postgres":
        return with_schema(base_url, name)
    url = with_database(base_url, f"queuectl_{name}")
    server, database = split_database(url)
    _tell_mysql(server, f"CREATE DATABASE `{database}`")
    return url


def drop(url: str) -> None:
    """Drop a place, whoever is still connected to it."""
    postgres = engine_of(url) == "postgres"
    server, place = split_schema(url) if postgres else split_database(url)
    drop_place = _drop_schema if postgres else _drop_database
    if not _OURS.fullmatch(place):
        raise ValueError(f"'{place}' is not a place of a test; it is not dropped")
    wait_until(
        lambda: drop_place(server, place),
        timeout=_PATIENCE,
        what=f"{place} to be dropped; who holds a lock in it?",
    )
    _handed_out.discard(url)


def _drop_schema(server: str, schema: str) -> bool:
    connection = admin.postgres(server)
    try:
        connection.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE")
    except _OTHERS_WERE_THERE:
        connection.execute(_TERMINATE, {"schema": schema})
        return False
    return True


def _drop_database(server: str, database: str) -> bool:
    for row in _tell_mysql(server, "SHOW PROCESSLIST"):
        if row[3] == database:
            _kill(server, row[0])
    try:
        _tell_mysql(server, f"DROP DATABASE IF EXISTS `{database}`")
    except pymysql.err.OperationalError as error:
        if error.args[0] not in (_MYSQL_LOCK_WAIT, _MYSQL_DEADLOCK):
            raise
        return False
    return True


def _kill(server: str, thread: int) -> None:
    try:
        _tell_mysql(server, f"KILL {thread}")
    except pymysql.err.Error as error:
        if error.args[0] != _MYSQL_NO_SUCH_THREAD:
            raise


def _tell_mysql(server: str, statement: str) -> Sequence[Any]:
    with admin.mysql(server).cursor() as cursor:
        cursor.execute(statement)
        rows: Sequence[Any] = cursor.fetchall()
        return rows


@at_exit
def _drop_the_rest() -> None:
    for url in list(_handed_out):
        try:
            drop(url)
        except (psycopg.OperationalError, pymysql.err.OperationalError):
            pass  # its server is gone; a private one takes its places along
