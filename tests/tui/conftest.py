"""`top` on a terminal of its own, and a stage for the jobs that it shows."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from tests.cli.stagehand import Stagehand
from tests.site import Site
from tests.tui.terminal import Program

from queuectl.queue import Queue


@pytest.fixture
def queue(site: Site) -> Iterator[Queue]:
    with site.queue() as opened:
        yield opened


@pytest.fixture
def stage(queue: Queue) -> Stagehand:
    return Stagehand(queue)


Start = Callable[..., Program]


@pytest.fixture
def start(site: Site) -> Iterator[Start]:
    started: list[Program] = []

    def run(*words: str, width: int = 80, height: int = 24, **more: str) -> Program:
        program = Program(site.env, site.work, *words, width=width, height=height, **more)
        started.append(program)
        return program

    yield run
    for program in started:
        program.close()
