"""Sites that an enemy has been to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.site import Site


@pytest.fixture
def unchecked(tmp_path: Path) -> Iterator[Site]:
    """A private installation whose store may be in any condition at the end."""
    it = Site(tmp_path / "home")
    yield it
    it.close()
