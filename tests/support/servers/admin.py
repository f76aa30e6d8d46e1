"""Connections of the tests themselves to servers: one for each server and process, made when needed.

What is asked by them is left to places.py.
"""

from __future__ import annotations

import atexit
import os
import select
import socket
from collections.abc import Callable
from typing import Any

import psycopg
import pymysql

from tests.support.servers.urls import engine_of, mysql_login

# Whoever drops a place of a test waits no longer than this for those who still use it.
_LOCK_WAIT = "250ms"

# By process too: a fork must not speak on the connection of its parent.
_postgres: dict[tuple[int, str], psycopg.Connection[tuple[Any, ...]]] = {}
_mysql: dict[tuple[int, str], pymysql.Connection[Any]] = {}


def postgres(url: str) -> psycopg.Connection[tuple[Any, ...]]:
    """An autocommit connection; the URL is one of libpq, without a schema."""
    key = (os.getpid(), url)
    known = _postgres.get(key)
    if known is None or known.closed or not _is_quiet(known.fileno()):
        forget(url)
        # Not named like our own connections: those are ended when they are in the way.
        known = psycopg.connect(url, autocommit=True, application_name="tests", connect_timeout=5)
        known.execute(f"SET lock_timeout = '{_LOCK_WAIT}'; SET client_min_messages = warning")
        _postgres[key] = known
    return known


def mysql(url: str) -> pymysql.Connection[Any]:
    """An autocommit connection without a database."""
    key = (os.getpid(), url)
    known = _mysql.get(key)
    # pymysql has no public name for its socket, and its types have none at all.
    if known is None or not known.open or not _is_quiet(known._sock.fileno()):  # type: ignore[attr-defined]
        forget(url)
        known = connect_mysql(url, autocommit=True)
        with known.cursor() as cursor:
            cursor.execute("SET lock_wait_timeout = 1")
        _mysql[key] = known
    return known


def connect_mysql(url: str, *, timeout: float = 5, **options: Any) -> pymysql.Connection[Any]:
    """`pymysql.connect`, which does not close its end of a unix socket where nobody listens."""
    login = mysql_login(url)
    if "unix_socket" not in login:
        return pymysql.connect(**login, connect_timeout=timeout, **options)
    connection = pymysql.connect(**login, defer_connect=True, **options)
    line = socket.socket(socket.AF_UNIX)
    try:
        line.settimeout(timeout)
        line.connect(login["unix_socket"])
        connection.connect(line)
    except BaseException:
        line.close()
        raise
    return connection


def forget(url: str) -> None:
    """Close the connection to that server, if there is one."""
    key = (os.getpid(), url)
    connections: dict[tuple[int, str], Any] = _postgres if engine_of(url) == "postgres" else _mysql
    connection = connections.pop(key, None)
    if connection is None:
        return
    try:
        connection.close()
    except pymysql.err.Error:
        pass  # it was closed from the other side


def _is_quiet(descriptor: int) -> bool:
    """Between two questions a server says nothing, except that it goes away."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return not poll.poll(0)


def at_exit(action: Callable[[], object]) -> None:
    """Do it when this process ends; a fork that ends leaves its parent's servers and places alone."""
    owner = os.getpid()

    def act() -> None:
        if os.getpid() == owner:
            action()

    atexit.register(act)


@at_exit
def _close_all() -> None:
    for _, url in [*_postgres, *_mysql]:
        forget(url)
