from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.counts import check_counts
from tests.site import Site
from tests.tiers import mark_long


@pytest.hookimpl(tryfirst=True)  # before `-m` looks at the marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    mark_long(items)


@pytest.fixture
def store_url() -> str | None:
    """Where a test's queue is: in the file of its home. Suites that run on every engine override this."""
    return None


@pytest.fixture
def site(tmp_path: Path, store_url: str | None) -> Iterator[Site]:
    """A private installation; everything it started is gone afterwards."""
    it = Site(tmp_path / "home", url=store_url)
    yield it
    it.close()
    check_counts(it.location)
