"""The program end to end on each server: one store for each module and engine.

The tests of a module share it, so each has ids and queues of its own.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import pytest

from queuectl.cli.main import main
from queuectl.queue import Queue
from tests.support.engines import SERVERS, engines, fresh_store
from tests.support.fake_worker import FakeWorker
from tests.support.home import Home, fresh_home


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str

    def json(self) -> Any:
        assert self.code == 0, self.err
        return json.loads(self.out)

    def error(self) -> str:
        """The code of the error that `--json` gives."""
        return str(json.loads(self.err)["error"]["code"])


Cli = Callable[..., Result]


@pytest.fixture(scope="module", params=engines(*SERVERS))
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def home(engine: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    directory = tmp_path_factory.mktemp("smoke")
    with fresh_store(engine) as url, fresh_home(directory / "home", url=url) as home:
        yield home


@pytest.fixture
def another(engine: str) -> Iterator[str]:
    """The URL of a second, empty place on the same server."""
    with ExitStack() as stack:
        url = stack.enter_context(fresh_store(engine))
        assert url is not None
        yield url


@pytest.fixture(autouse=True)
def environment(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """That of the home, for all that runs in this process."""
    for name in [name for name in os.environ if name not in home.env]:
        monkeypatch.delenv(name)
    for name in ("QUEUECTL_HOME", "QUEUECTL_DB"):
        monkeypatch.setenv(name, home.env[name])
    monkeypatch.chdir(home.work)


@pytest.fixture
def cli(capfd: pytest.CaptureFixture[str]) -> Cli:
    """The whole command line in this process."""

    def run(*words: str) -> Result:
        capfd.readouterr()
        code = main(list(words))
        return Result(code, *capfd.readouterr())

    return run


@pytest.fixture
def queue(environment: None) -> Iterator[Queue]:
    with Queue.open() as opened:
        yield opened


@pytest.fixture
def fake_worker(queue: Queue) -> Iterator[FakeWorker]:
    worker = FakeWorker(queue)
    yield worker
    worker.leave()
