"""A home without anybody's trace around it, and a collector."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.support.engines import fresh_store
from tests.support.home import Home
from tests.tracing.collector import Collector


@pytest.fixture
def collector() -> Iterator[Collector]:
    it = Collector()
    yield it
    it.close()


@pytest.fixture(params=["sqlite"])
def store_url(request: pytest.FixtureRequest) -> Iterator[str | None]:
    with fresh_store(request.param) as url:
        yield url


@pytest.fixture(autouse=True)
def untraced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever runs the tests may trace them."""
    for name in list(os.environ):
        if name.startswith("OTEL_") or name in ("TRACEPARENT", "TRACESTATE"):
            monkeypatch.delenv(name)


@pytest.fixture
def home(untraced: None, home: Home) -> Home:
    return home
