"""A home of its own for every test, and places for queues."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.doctor.place import Place
from tests.support.engines import SERVERS, engines
from tests.support.servers import drop, fresh_url


@pytest.fixture(autouse=True)
def own_home(home_dir: Path) -> None:
    """Every test has a home of its own, also if it asks for none."""


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
