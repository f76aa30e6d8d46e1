"""Fresh places on all engines, for tests that each have a home of their own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.transfer.places import Places


@pytest.fixture(autouse=True)
def own_home(home_dir: Path) -> None:
    """Every test has one, also if it asks for none."""


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Places]:
    """`place("mysql")`: the URL of a fresh place."""
    places = Places(tmp_path)
    yield places
    places.close()
