"""Which server the tests use: the one that is named, else one that runs here, else one of our own.

Decided once for each process; one of our own is the same for all processes of a run. Places on it are left
to places.py.
"""

from __future__ import annotations

import fcntl
import getpass
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from urllib.parse import quote

import psycopg
import pymysql
import pytest

from tests.support.servers.admin import at_exit, connect_mysql
from tests.support.servers.binaries import HIDDEN, NAMES, VARIABLES, installed, missing
from tests.support.servers.private import SERVERS
from tests.support.servers.process import ServerFailed, temporary_root
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


@cache
def _search(engine: str) -> tuple[str | None, str | None]:
    """The server's URL, if there is one, and what is wrong with it. Both are remembered."""
    if HIDDEN:
        return None, None
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
        return _private_url(engine), None
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


# --- one of our own for all processes of a run: the first that asks starts it -----------------------------
# pytest-xdist gives every run an id; a directory named after it is the lock, and holds URL and server.


def _private_url(engine: str) -> str:
    """The run's private server; it is started if nobody has done so yet."""
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID")
    return _own(engine) if run is None else _shared(engine, run)


def _own(engine: str) -> str:
    server = SERVERS[engine]()
    at_exit(server.close)
    server.start()
    return server.base_url


def _shared(engine: str, run: str) -> str:
    # A part of the id: the path of a unix socket must not have more than about 100 characters.
    directory = temporary_root() / f"queuectl-{engine}-{os.getuid()}-{run[:8]}"
    with _locked(directory):
        note = directory / "url"
        if note.exists():
            return note.read_text()
        # Processes of the run come and go; the one that started them stays until its very end.
        controller = os.getppid()
        server = SERVERS[engine](directory=directory, until=controller)
        try:
            server.start()
        except BaseException:
            at_exit(server.close)
            raise
        note.write_text(server.base_url)
        return server.base_url


@contextmanager
def _locked(directory: Path) -> Iterator[None]:
    directory.mkdir(mode=0o700, exist_ok=True)
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
