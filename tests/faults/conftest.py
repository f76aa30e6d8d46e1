"""Shared queues: on the servers of the run, through proxies, and on servers that a test may kill."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from queuectl.store.api import Store
from tests.support import sessions
from tests.support.engines import engines
from tests.support.jobs import register
from tests.support.proxy import Proxy
from tests.support.servers import drop, fresh_url
from tests.support.servers.private import SERVERS, PrivateServer
from tests.support.shared_queue import SharedQueue


@pytest.fixture(params=engines("postgres", "mysql", long=["mysql"]))
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def server(engine: str) -> Iterator[PrivateServer]:
    """A server that the test may kill."""
    with SERVERS[engine]() as server:
        yield server


@pytest.fixture
def private(server: PrivateServer, tmp_path: Path) -> Iterator[SharedQueue]:
    """A queue on it."""
    place = SharedQueue(tmp_path, server.fresh_url())
    yield place
    place.close()


@pytest.fixture
def place(engine: str, tmp_path: Path) -> Iterator[SharedQueue]:
    """A queue on the server of the run."""
    url = fresh_url(engine)
    place = SharedQueue(tmp_path, sessions.named(url))
    yield place
    place.close()
    drop(url)


@pytest.fixture
def proxy(place: SharedQueue) -> Iterator[Proxy]:
    """A way to the queue that can be cut."""
    with Proxy.before(place.url) as proxy:
        yield proxy


@pytest.fixture
def proxied(place: SharedQueue, proxy: Proxy) -> str:
    """Its URL by way of the proxy."""
    return proxy.way(place.url)


@pytest.fixture
def store(place: SharedQueue, proxied: str) -> Store:
    """Its store by way of the proxy; `place.store` is the same by a way without trouble."""
    return place.open(proxied)


@pytest.fixture
def direct(place: SharedQueue) -> Store:
    """`place.store`, which does not go through the proxy; with a worker w1."""
    register(place.store)
    return place.store
