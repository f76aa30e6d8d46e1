from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.site import Site


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """A private installation; everything it started is gone afterwards."""
    it = Site(tmp_path / "home")
    yield it
    it.close()
