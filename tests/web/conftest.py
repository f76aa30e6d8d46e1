"""Real servers: one that all tests of this process share, and such that a test starts for itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from tests.support.dashboard import Server
from tests.support.home import Home, fresh_home
from tests.web.attack import serving


@pytest.fixture(scope="session")
def dashboard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """For tests whose subject is neither its start nor its options. Who leaves jobs behind takes `server`."""
    with serving(tmp_path_factory.mktemp("dashboard"), "--allow-host", "Queue.Example") as server:
        yield server


@pytest.fixture
def home(dashboard: Server) -> Iterator[Home]:
    """Where the shared server's store is; nothing is in it, and nothing stays."""
    with fresh_home(dashboard.path) as home:
        yield home
    dashboard.empty()


@pytest.fixture
def server(dashboard: Server, home: Home) -> Server:
    return dashboard


@pytest.fixture
def api(server: Server) -> httpx.Client:
    """A client with the admin token; its paths are below /api/v1."""
    return server.client(base_url=server.api)


# --- servers of a test's own ------------------------------------------------------------------------


@pytest.fixture
def own_home(tmp_path: Path, store_url: str | None) -> Iterator[Home]:
    with fresh_home(tmp_path / "home", url=store_url) as home:
        yield home


@pytest.fixture
def kind() -> type[Server]:
    """Overridden where it matters how its process was started."""
    return Server


@pytest.fixture
def start_server(own_home: Home, kind: type[Server]) -> Iterator[Callable[..., Server]]:
    """Starts servers with other options; those that still run are ended, and must end well."""
    started: list[Server] = []

    def start(*args: str, env: dict[str, str] | None = None) -> Server:
        started.append(kind(own_home, *args, env=env))
        return started[-1]

    yield start
    for one in started:
        if one.process.poll() is None:
            one.stop()


@pytest.fixture
def own_server(start_server: Callable[..., Server]) -> Server:
    return start_server()
