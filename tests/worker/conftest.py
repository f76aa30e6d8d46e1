"""Homes with real workers, on what Linux has and on the fallbacks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.worker_home import WorkerHome


@pytest.fixture
def home(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[WorkerHome]:
    """A private installation. No process of a job may be left when its workers have stopped."""
    yield from _opened(tmp_path, getattr(request, "param", "linux"))


@pytest.fixture(scope="module", params=["linux"])
def shared_home(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[WorkerHome]:
    """One with a worker of four slots, shared by the tests of a module that leave it as it was."""
    for home in _opened(tmp_path_factory.mktemp("shared"), request.param):
        home.serve("--concurrency", "4")
        yield home


def _opened(directory: Path, system: str) -> Iterator[WorkerHome]:
    home = WorkerHome(directory / "home", portable=system == "portable")
    yield home
    left = home.close()
    assert not left, f"processes of jobs were left: {left}; {home.log}"
