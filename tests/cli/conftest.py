from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.cli import QUEUECTL, Start
from tests.support.fake_worker import FakeWorker


@pytest.fixture(autouse=True)
def own_home(home_dir: Path) -> None:
    """Every test has a home of its own, also if it asks for none."""


@pytest.fixture
def jobs_in_every_state(fake_worker: FakeWorker) -> None:
    """One job in each state that there is without dependencies."""
    fake_worker.add_jobs_in_every_state()


@pytest.fixture
def start(home_dir: Path) -> Iterator[Start]:
    """Start a command that is to be watched while it runs."""
    started: list[subprocess.Popen[bytes]] = []

    def run(*words: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [*QUEUECTL, *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        started.append(process)
        return process

    yield run
    for process in started:
        process.kill()
        process.communicate()
