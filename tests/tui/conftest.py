"""`top` on a terminal of its own, and a stage for the jobs that it shows."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from tests.support.fake_worker import FakeWorker
from tests.support.home import Home
from tests.support.terminal import Program

from queuectl.queue import Queue


@pytest.fixture
def queue(home: Home) -> Iterator[Queue]:
    with home.queue() as opened:
        yield opened


@pytest.fixture
def fake_worker(queue: Queue) -> FakeWorker:
    return FakeWorker(queue)


Start = Callable[..., Program]


@pytest.fixture
def start(home: Home) -> Iterator[Start]:
    started: list[Program] = []

    def run(*words: str, width: int = 80, height: int = 24, **more: str) -> Program:
        program = Program(home.env, home.work, *words, width=width, height=height, **more)
        started.append(program)
        return program

    yield run
    for program in started:
        program.close()
