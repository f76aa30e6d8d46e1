"""Sites with real workers, on what Linux has and on the fallbacks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.worker.workshop import Workshop


@pytest.fixture
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Workshop]:
    """A private installation. No process of a job may be left when its workers have stopped."""
    yield from _opened(tmp_path, getattr(request, "param", "linux"))


@pytest.fixture(scope="module", params=["linux"])
def served(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workshop]:
    """One with a worker of four slots, shared by the tests of a module that leave it as it was."""
    for site in _opened(tmp_path_factory.mktemp("served"), request.param):
        site.serve("--concurrency", "4")
        yield site


def _opened(directory: Path, system: str) -> Iterator[Workshop]:
    site = Workshop(directory / "home", portable=system == "portable")
    yield site
    left = site.close()
    assert not left, f"processes of jobs were left: {left}; {site.log}"
