"""PgBouncer before a PostgreSQL of the tests: transactions of many clients share few connections."""

from __future__ import annotations

import os
import shutil
import signal
from typing import NoReturn, Self
from urllib.parse import urlsplit

import psycopg
import pytest

from queuectl.testing import wait_until
from tests.support.servers.binaries import SERVER_FOLDERS
from tests.support.servers.process import (
    KeptProcess,
    ServerFailed,
    free_port,
    give,
    make_directory,
    server_user,
)
from tests.support.servers.urls import split_schema

_SETTINGS = """
[databases]
{database} = host={host} port={port} dbname={database} user={user}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {own_port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = {pool}
max_client_conn = 50
query_wait_timeout = 30
"""


def program() -> str:
    """Where it is; without it the test is skipped loudly, in CI it fails."""
    path = os.pathsep.join((os.environ.get("PATH", os.defpath), *SERVER_FOLDERS))
    return shutil.which("pgbouncer", path=path) or _missing()


def _missing() -> NoReturn:
    message = "NOT TESTED, no pgbouncer here. Install it: `make servers` or `apt-get install pgbouncer`"
    if os.environ.get("CI") == "true":
        pytest.fail(message, pytrace=False)
    pytest.skip(message)


class Bouncer:
    """`with Bouncer(url, pool=2) as bouncer:` then `bouncer.url` leads to the same place."""

    def __init__(self, url: str, *, pool: int) -> None:
        self._program = program()
        self._behind, self._schema = urlsplit(split_schema(url)[0]), split_schema(url)[1]
        self._pool = pool
        self._port = free_port(["127.0.0.1"])
        self._user = server_user("postgres")
        self._directory = make_directory("pgbouncer")
        give(self._directory, user=self._user)

    @property
    def _address(self) -> str:
        user = self._behind.username or "postgres"
        return f"postgresql://{user}@127.0.0.1:{self._port}{self._behind.path}"

    @property
    def url(self) -> str:
        return f"{self._address}?pgbouncer=1&schema={self._schema}"

    def __enter__(self) -> Self:
        settings = self._directory / "pgbouncer.ini"
        settings.write_text(
            _SETTINGS.format(
                host=self._behind.hostname,
                port=self._behind.port or 5432,
                database=self._behind.path.strip("/"),
                user=self._behind.username or "postgres",
                own_port=self._port,
                pool=self._pool,
            )
        )
        settings.chmod(0o644)
        self._process = KeptProcess(
            [self._program, str(settings)],
            directory=self._directory,
            user=self._user,
            farewell=signal.SIGQUIT,
        )
        wait_until(lambda: self._answers() or not self._process.alive, what="pgbouncer to answer")
        if not self._process.alive:
            raise ServerFailed((self._directory / "server.log").read_text())
        return self

    def __exit__(self, *_: object) -> None:
        self._process.end(signal.SIGQUIT)
        shutil.rmtree(self._directory, ignore_errors=True)

    def _answers(self) -> bool:
        try:
            with psycopg.connect(self._address, connect_timeout=5) as connection:
                connection.execute("SELECT 1")
        except psycopg.OperationalError:
            return False
        return True
