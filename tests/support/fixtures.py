"""Fixtures for every folder; tests/conftest.py loads them. A folder may override any of them.

Drivers of servers are imported late: most tests need none.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from queuectl.queue import Queue
from queuectl.testing import FakeClock
from tests.support.cli import Cli, CliProcess, Terminal
from tests.support.counts import check_counts
from tests.support.engines import Place, engines, fresh_store
from tests.support.fake_worker import FakeWorker
from tests.support.home import Home, fresh_home
from tests.support.user_commands import Queuectl

if TYPE_CHECKING:
    from queuectl.store.api import Store
    from tests.support.stores import Engine

_COLOURS = ("NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE")
_KEPT = ("QUEUECTL_PORTABLE", "QUEUECTL_TEST_")


@pytest.fixture
def store_url(request: pytest.FixtureRequest) -> Iterator[str | None]:
    """Where a test's queue is: in the file of its home, or where the mark `on_engines` wants it."""
    with fresh_store(getattr(request, "param", "sqlite")) as url:
        yield url


@pytest.fixture
def place(tmp_path: Path, store_url: str | None) -> Iterator[Place]:
    """A fresh place for a store, which processes of the test share."""
    place = Place(str(tmp_path / "new" / "home"), store_url)
    yield place
    check_counts(place.location())


@pytest.fixture(params=engines())
def engine(request: pytest.FixtureRequest, tmp_path: Path, spare_connections: None) -> Iterator[Engine]:
    """A fresh store on each engine; `.open()` gives connections to it."""
    from tests.support.stores import ENGINES

    engine = ENGINES[request.param](tmp_path)
    yield engine
    engine.check()
    engine.close()


@pytest.fixture(scope="session")
def spare_connections() -> Iterator[None]:
    """Those that engines keep from test to test are closed in the end."""
    yield
    from tests.support.stores import MysqlEngine, PostgresEngine

    PostgresEngine.close_spare()
    MysqlEngine.close_spare()


@pytest.fixture
def store(engine: Engine) -> Store:
    """A first connection to it."""
    return engine.open()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def home(tmp_path: Path, store_url: str | None) -> Iterator[Home]:
    """A private installation; everything it started is gone afterwards."""
    with fresh_home(tmp_path / "home", url=store_url) as home:
        yield home


@pytest.fixture
def unchecked_home(tmp_path: Path, store_url: str | None) -> Iterator[Home]:
    """One whose store may be in any condition at the end."""
    it = Home(tmp_path / "home", url=store_url)
    yield it
    it.close()


@pytest.fixture
def home_dir(tmp_path: Path, store_url: str | None, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own for the commands of a test, and no setting from outside. Not made yet."""
    for name in list(os.environ):
        if name.startswith("QUEUECTL_") and not name.startswith(_KEPT):
            monkeypatch.delenv(name)
    for name in _COLOURS:
        monkeypatch.delenv(name, raising=False)
    path = tmp_path / "home"
    monkeypatch.setenv("QUEUECTL_HOME", str(path))
    if store_url:
        monkeypatch.setenv("QUEUECTL_DB", store_url)
    return path


@pytest.fixture
def work_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory, for the files of a test."""
    path = tmp_path / "files"
    path.mkdir()
    monkeypatch.chdir(path)
    return path


@pytest.fixture
def cli(home_dir: Path) -> Cli:
    """Commands in this process."""
    return Cli()


@pytest.fixture
def cli_process(home_dir: Path) -> Cli:
    """Commands as processes with pipes."""
    return CliProcess()


@pytest.fixture
def terminal(home_dir: Path) -> Terminal:
    """Commands as processes on a terminal."""
    return Terminal()


@pytest.fixture
def queuectl(home_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Queuectl]:
    """Commands and workers, in the directory `tmp_path`; the workers are gone when the test is over."""
    monkeypatch.chdir(tmp_path)
    command = Queuectl()
    yield command
    stopped = command.run("worker", "stop", "--now")
    left = command.running()
    for process in left:
        process.kill()
    assert stopped.returncode == 0, stopped.stderr
    assert not left, "a stop must leave no process behind"


@pytest.fixture
def queue(home_dir: Path) -> Iterator[Queue]:
    """The queue of that home, which is made here."""
    with Queue.open() as opened:
        yield opened


@pytest.fixture
def fake_worker(queue: Queue) -> FakeWorker:
    return FakeWorker(queue)
