"""Homes that an enemy has been to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.home import Home


@pytest.fixture
def unchecked(tmp_path: Path) -> Iterator[Home]:
    """A private installation whose store may be in any condition at the end."""
    it = Home(tmp_path / "home")
    yield it
    it.close()
