"""What is special about a store that machines share: each test on both kinds of server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.support.engines import SERVERS, engines, fresh_store


@pytest.fixture(params=engines(*SERVERS, long=["mysql"]))
def store_url(request: pytest.FixtureRequest) -> Iterator[str]:
    with fresh_store(request.param) as url:
        assert url is not None
        yield url
