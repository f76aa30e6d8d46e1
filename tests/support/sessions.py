"""Somebody else at the same server: sees who waits there, ends sessions, holds rows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import psycopg
import pymysql

from tests.support.servers import admin
from tests.support.servers.urls import engine_of, split_database, split_schema

_WAITING = "SELECT pid FROM pg_stat_activity WHERE application_name = %s AND wait_event_type = 'Lock'"
_SESSIONS = {
    "postgres": "SELECT pid FROM pg_stat_activity WHERE application_name = %s",
    "mysql": "SELECT id FROM information_schema.processlist WHERE db = %s",
}
_NO_SUCH_THREAD = 1094


def named(url: str) -> str:
    """The URL with a name by which the sessions of this place can be told from all others."""
    if engine_of(url) == "mysql":
        return url  # there it is the database
    return f"{url}&application_name=queuectl_{split_schema(url)[1]}"


def sessions(url: str) -> list[int]:
    return _ask(url, _SESSIONS[engine_of(url)])


def waiting(url: str) -> list[int]:
    """The sessions of the place that wait for a row which somebody else holds."""
    if engine_of(url) == "postgres":
        return _ask(url, _WAITING)
    # Not from innodb_trx: it is made anew only when nobody has asked for a tenth of a second.
    with admin.mysql(split_database(url)[0]).cursor() as cursor:
        cursor.execute("SHOW ENGINE INNODB STATUS")
        transactions = cursor.fetchall()[0][2].split("---TRANSACTION")
    waits = (re.search(r"thread id (\d+)", text) for text in transactions if "LOCK WAIT" in text)
    return sorted({int(found[1]) for found in waits if found} & set(sessions(url)))


def end_sessions(url: str) -> int:
    """End all of them; returns how many there were."""
    found = sessions(url)
    for session in found:
        if engine_of(url) == "postgres":
            admin.postgres(_server(url)).execute("SELECT pg_terminate_backend(%s)", (session,))
        else:
            _kill(url, session)
    return len(found)


@contextmanager
def transaction(url: str) -> Iterator[Any]:
    """A cursor in a transaction on the place's tables; what it did is undone in the end."""
    with closing(_connected(url)) as connection, connection.cursor() as cursor:
        yield cursor
        connection.rollback()


def _connected(url: str) -> Any:
    if engine_of(url) == "mysql":
        server, database = split_database(url)
        return admin.connect_mysql(server, database=database)
    connection = psycopg.connect(_server(url), application_name="other")
    connection.execute(f"SET search_path TO {split_schema(url)[1]}")
    return connection


def _server(url: str) -> str:
    return split_schema(url)[0].partition("?")[0]


def _ask(url: str, question: str) -> list[int]:
    if engine_of(url) == "postgres":
        name = f"queuectl_{split_schema(url)[1]}"
        rows = admin.postgres(_server(url)).execute(question, (name,)).fetchall()
    else:
        server, database = split_database(url)
        with admin.mysql(server).cursor() as cursor:
            cursor.execute(question, (database,))
            rows = list(cursor.fetchall())
    return [int(row[0]) for row in rows]


def _kill(url: str, session: int) -> None:
    try:
        with admin.mysql(split_database(url)[0]).cursor() as cursor:
            cursor.execute(f"KILL {session}")
    except pymysql.err.Error as error:
        if error.args[0] != _NO_SUCH_THREAD:
            raise
