"""A real server on a fresh store, on SQLite or (`@every_engine`) on each engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import httpx
import pytest

from tests.support.dashboard import Server
from tests.support.engines import fresh_store
from tests.support.home import Home


@pytest.fixture
def store_engine() -> str:
    """Overridden by `every_engine` of tests.support.http."""
    return "sqlite"


@pytest.fixture
def store_url(store_engine: str) -> Iterator[str | None]:
    with fresh_store(store_engine) as url:
        yield url


@pytest.fixture
def kind() -> type[Server]:
    """Overridden where it matters how its process was started."""
    return Server


@pytest.fixture
def start_server(home: Home, kind: type[Server]) -> Iterator[Callable[..., Server]]:
    """Starts servers with other options; those that still run are ended, and must end well."""
    started: list[Server] = []

    def start(*args: str, env: dict[str, str] | None = None) -> Server:
        started.append(kind(home, *args, env=env))
        return started[-1]

    yield start
    for one in started:
        if one.process.poll() is None:
            one.stop()


@pytest.fixture
def server(start_server: Callable[..., Server]) -> Server:
    return start_server()


@pytest.fixture
def api(server: Server) -> httpx.Client:
    """A client with the admin token; its paths are below /api/v1."""
    return server.client(base_url=server.api)
