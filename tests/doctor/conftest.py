"""A home of its own for every test, places for queues, and servers with weak settings."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.doctor.place import Place
from tests.support.engines import SERVERS, engines
from tests.support.servers import PrivateMariadb, PrivatePostgres, drop, fresh_url

UNSAFE_POSTGRES = {
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "autovacuum": "off",
    "default_transaction_isolation": "serializable",
    "max_connections": 12,  # of which three are kept for superusers
    "max_prepared_transactions": 2,
}
UNSAFE_MARIADB = {
    "innodb-flush-log-at-trx-commit": 2,
    "innodb-doublewrite": "OFF",
    "log-bin": "binlog",
    "server-id": 1,
    "sync-binlog": 0,
    "sql-mode": "",
    "max-allowed-packet": "1M",
    "character-set-server": "latin1",
    "max-connections": 12,
}


@pytest.fixture(autouse=True)
def home_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in list(os.environ):
        if name.startswith("QUEUECTL_") and not name.startswith("QUEUECTL_TEST_"):
            monkeypatch.delenv(name)
    for name in ("NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE"):
        monkeypatch.delenv(name, raising=False)
    path = tmp_path / "home"
    monkeypatch.setenv("QUEUECTL_HOME", str(path))
    return path


@pytest.fixture(params=engines(long=SERVERS))
def place(request: pytest.FixtureRequest, home_dir: Path) -> Iterator[Place]:
    """A fresh place on each engine; there is no queue in it yet."""
    yield from _place(request.param, home_dir)


@pytest.fixture(params=engines(*SERVERS, long=SERVERS))
def server_place(request: pytest.FixtureRequest, home_dir: Path) -> Iterator[Place]:
    yield from _place(request.param, home_dir)


@pytest.fixture
def sqlite_place(home_dir: Path) -> Iterator[Place]:
    yield from _place("sqlite", home_dir)


@pytest.fixture
def postgres_place(home_dir: Path) -> Iterator[Place]:
    yield from _place("postgres", home_dir)


@pytest.fixture
def mysql_place(home_dir: Path) -> Iterator[Place]:
    yield from _place("mysql", home_dir)


def _place(engine: str, home_dir: Path) -> Iterator[Place]:
    if engine == "sqlite":
        yield Place(engine, str(home_dir / "queue.db"), home_dir)
        return
    url = fresh_url(engine)
    yield Place(engine, url, home_dir)
    drop(url)


@pytest.fixture(scope="module")
def unsafe_postgres() -> Iterator[PrivatePostgres]:
    with PrivatePostgres(settings=UNSAFE_POSTGRES) as server:
        yield server


@pytest.fixture(scope="module")
def unsafe_mariadb() -> Iterator[PrivateMariadb]:
    """Its clock on the wall is not UTC: what it says of the beginning of a transaction is in local time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "America/New_York")
        with PrivateMariadb(settings=UNSAFE_MARIADB) as server:
            yield server


@pytest.fixture
def unsafe_postgres_place(unsafe_postgres: PrivatePostgres, home_dir: Path) -> Place:
    place = Place("postgres", unsafe_postgres.fresh_url(), home_dir)
    place.make()
    return place


@pytest.fixture
def unsafe_mysql_place(unsafe_mariadb: PrivateMariadb, home_dir: Path) -> Place:
    place = Place("mysql", unsafe_mariadb.fresh_url(), home_dir)
    place.make()
    return place
