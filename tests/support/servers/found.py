"""Which server the tests use: the one that is named, else one that runs here, else one of our own.

Decided once for each process. Places on it are left to places.py.
"""

from __future__ import annotations

import getpass
import os
import socket
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from urllib.parse import quote

import psycopg
import pymysql
import pytest

from tests.support.servers.admin import connect_mysql
from tests.support.servers.binaries import installed
from tests.support.servers.missing import NAMES, VARIABLES, missing
from tests.support.servers.process import ServerFailed
from tests.support.servers.shared import private_url
from tests.support.servers.urls import engine_of, split_schema

# The value of QUEUECTL_TEST_… that asks for a server of our own even where one is running.
PRIVATE = "private"

_POSTGRES_SOCKETS = ("/run/postgresql", "/var/run/postgresql", "/tmp")
_MYSQL_SOCKETS = (
    "/run/mysqld/mysqld.sock",
    "/var/run/mysqld/mysqld.sock",
    "/var/lib/mysql/mysql.sock",
    "/tmp/mysql.sock",
)


def base_url(engine: str) -> str:
    """The server for that engine; without one the test is skipped, or fails."""
    if engine not in VARIABLES:
        raise ValueError(f"'{engine}' needs no server; these do: {', '.join(VARIABLES)}")
    url, complaint = _search(engine)
    if complaint:
        pytest.fail(complaint, pytrace=False)
    return url or missing(engine)


def require(engine: str) -> None:
    """Skip the test, or fail it in CI, if there is no server for this engine."""
    if engine != "sqlite":
        base_url(engine)


@cache
def _search(engine: str) -> tuple[str | None, str | None]:
    """The server's URL, if there is one, and what is wrong with it. Both are remembered."""
    named = os.environ.get(VARIABLES[engine], "")
    if named and named != PRIVATE:
        return _named(engine, named)
    if not named:
        local = next((url for url in _LOCAL[engine]() if not _trouble(url)), None)
        if local:
            return local, None
    if not installed(engine):
        return None, None
    try:
        return private_url(engine), None
    except (ServerFailed, OSError, AssertionError) as error:
        return None, f"{NAMES[engine]} is installed, but a private one does not start: {error}"


def _named(engine: str, url: str) -> tuple[str | None, str | None]:
    try:
        wrong = "" if engine_of(url) == engine else f"this is not a URL of {NAMES[engine]}"
    except ValueError as error:
        wrong = str(error)
    wrong = wrong or _trouble(url)
    return url, f"{VARIABLES[engine]} cannot be used: {wrong}" if wrong else None


def _trouble(url: str) -> str:
    """Why the tests cannot work on that server, or nothing."""
    try:
        return _postgres_trouble(url) if engine_of(url) == "postgres" else _mysql_trouble(url)
    except (psycopg.Error, pymysql.err.Error, OSError, RuntimeError) as error:
        return str(error).strip()


def _postgres_trouble(url: str) -> str:
    server, _ = split_schema(url)
    with psycopg.connect(server, connect_timeout=3) as connection:
        row = connection.execute("SELECT has_database_privilege(current_database(), 'CREATE')").fetchone()
    return "" if row and row[0] else "this user must not create schemas there"


def _mysql_trouble(url: str) -> str:
    connection = connect_mysql(url, timeout=3)
    name = f"queuectl_t_probe_{os.getpid()}"
    with connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE IF NOT EXISTS {name}")
        cursor.execute(f"DROP DATABASE {name}")
    return ""


def _local_postgres() -> Iterator[str]:
    sockets = [folder for folder in _POSTGRES_SOCKETS if Path(folder, ".s.PGSQL.5432").exists()]
    hosts = ["127.0.0.1"] if _listens(5432) else []
    me = quote(getpass.getuser())
    for host in [*hosts, *sockets]:
        for database in ("test", "postgres", me):
            for user in ("postgres", me):
                if host in hosts:
                    yield f"postgresql://{user}@{host}:5432/{database}"
                else:
                    yield f"postgresql://{user}@/{database}?host={host}"


def _local_mysql() -> Iterator[str]:
    if _listens(3306):
        yield "mysql://root@127.0.0.1:3306/"
    for path in _MYSQL_SOCKETS:
        if Path(path).exists():
            yield f"mysql://root@localhost/?unix_socket={path}"


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=3).close()
    except OSError:
        return False
    return True


_LOCAL = {"postgres": _local_postgres, "mysql": _local_mysql}
