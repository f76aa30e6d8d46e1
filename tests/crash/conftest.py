"""Every crash on every engine."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.engines import SERVERS, engines, fresh_store


@pytest.fixture(params=engines(long=SERVERS))
def store_url(request: pytest.FixtureRequest) -> Iterator[str | None]:
    with fresh_store(request.param) as url:
        yield url
