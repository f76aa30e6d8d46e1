"""A fresh, empty store for each measurement: a file, a schema of PostgreSQL, a database of MariaDB.

Which server: QUEUECTL_TEST_POSTGRES and QUEUECTL_TEST_MYSQL name one, else the local ones by their sockets.
"""

from __future__ import annotations

import getpass
import os
import secrets
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from bench.home import Home
from bench.table import Result
from queuectl import Queue
from queuectl.address import Address
from queuectl.store.mysql import MysqlDriver
from queuectl.store.postgres import PostgresDriver

SQLITE, POSTGRES, MARIADB = "SQLite", "PostgreSQL", "MariaDB"
SERVERS = (POSTGRES, MARIADB)

_VARIABLES = {POSTGRES: "QUEUECTL_TEST_POSTGRES", MARIADB: "QUEUECTL_TEST_MYSQL"}
_POSTGRES_SOCKETS = "postgresql:///test?host=/var/run/postgresql&user="
_MARIADB_SOCKET = "mysql://root@localhost/information_schema?unix_socket=/run/mysqld/mysqld.sock"


class Place(Home):
    """A home of its own, and a store that may be on a server."""

    def __init__(self, path: Path, engine: str, url: str) -> None:
        super().__init__(path)
        self.engine = engine
        self.url = url
        self.env["QUEUECTL_DB"] = url

    def queue(self) -> Queue:
        """A connection of its own. What belongs to this machine's workers is kept in our home."""
        before = os.environ.get("QUEUECTL_HOME")
        os.environ["QUEUECTL_HOME"] = str(self.path)
        try:
            queue = Queue.open(self.url)
        finally:
            del os.environ["QUEUECTL_HOME"]
            if before is not None:
                os.environ["QUEUECTL_HOME"] = before
        Path(queue.store.location.run_dir).mkdir(mode=0o700, exist_ok=True)
        return queue


def found(engines: tuple[str, ...] = SERVERS) -> dict[str, str]:
    """The servers that answer, with their URLs. Of the others it is said that they do not."""
    servers = {}
    for engine in engines:
        named = os.environ.get(_VARIABLES[engine], "private")
        for url in [named] if named != "private" else _local(engine):
            try:
                _driver(url).close()
            except Exception as error:
                print(f"*** {engine} does not answer at {Address(url).shown}: {error}", file=sys.stderr)
            else:
                servers[engine] = url
                break
    return servers


def not_measured(what: str, why: str) -> Result:
    """What nobody has measured has not reached its target either."""
    print(f"*** NOT MEASURED: {what}: {why}", file=sys.stderr)
    return Result(what, [], "", target=why, good=False)


def lacking_room(needed: int) -> str:
    """Why it is not tried. Servers keep their data where we cannot look; here they are on the same disk."""
    free = shutil.disk_usage(tempfile.gettempdir()).free
    return "" if free > 2 * needed else f"needs {2 * needed / 1e9:.0f} GB free, there are {free / 1e9:.0f}"


@contextmanager
def fresh_place(engine: str, servers: Mapping[str, str]) -> Iterator[Place]:
    home = Path(tempfile.mkdtemp(prefix="queuectl-bench-"))
    name = f"bench_{secrets.token_hex(6)}"
    try:
        if engine == SQLITE:
            yield _prepared(Place(home, engine, str(home / "queue.db")))
        elif engine == POSTGRES:
            with fresh_schema(servers[engine], name):
                yield _prepared(Place(home, engine, with_schema(servers[engine], name)))
        else:
            with _fresh_database(servers[engine], name):
                yield _prepared(Place(home, engine, _with_database(servers[engine], name)))
    finally:
        shutil.rmtree(home)


@contextmanager
def fresh_schema(url: str, name: str) -> Iterator[None]:
    """Somebody makes it; here it is only dropped."""
    try:
        yield
    finally:
        tell(url, f'DROP SCHEMA IF EXISTS "{name}" CASCADE')


@contextmanager
def _fresh_database(url: str, name: str) -> Iterator[None]:
    tell(url, f"CREATE DATABASE {name}")
    try:
        yield
    finally:
        tell(url, f"DROP DATABASE {name}")


def with_schema(url: str, schema: str) -> str:
    return f"{url}{'&' if '?' in url else '?'}schema={schema}"


def _prepared(place: Place) -> Place:
    place.queuectl("init")
    return place


def _local(engine: str) -> list[str]:
    if engine == MARIADB:
        return [_MARIADB_SOCKET]
    return [_POSTGRES_SOCKETS + user for user in dict.fromkeys(("postgres", getpass.getuser()))]


def _with_database(url: str, name: str) -> str:
    parts = urlsplit(url)  # not put together by urlunsplit, which loses the `//` where no host is named
    return f"{parts.scheme}://{parts.netloc}/{name}" + (f"?{parts.query}" if parts.query else "")


def tell(url: str, statement: str) -> None:
    driver = _driver(url)
    try:
        driver.script(statement)
    finally:
        driver.close()


def version(url: str) -> str:
    """Of the server, as it says itself."""
    driver = _driver(url)
    try:
        said = str(driver.fetch("SELECT version()", ())[0][0])
    finally:
        driver.close()
    return said.removeprefix("PostgreSQL ").split(" on ")[0]


def _driver(url: str) -> PostgresDriver | MysqlDriver:
    address = Address(url)
    driver = PostgresDriver(address) if address.engine == "postgres" else MysqlDriver(address)
    driver.connect()
    return driver
