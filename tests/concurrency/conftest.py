"""A fresh place for a store, on each engine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.counts import check_counts
from tests.support.engines import Place, engines, fresh_store


@pytest.fixture(params=engines(long=["mysql"]))
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    with fresh_store(request.param) as url:
        place = Place(str(tmp_path / "new" / "home"), url)
        yield place
        check_counts(place.location())
