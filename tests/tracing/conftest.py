"""Homes without anybody's trace around them, and a collector."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.counts import check_counts
from tests.support.home import Home
from tests.tracing.collector import Collector


def is_of_tracing(name: str) -> bool:
    return name.startswith("OTEL_") or name in ("TRACEPARENT", "TRACESTATE")


@contextmanager
def untraced_home(directory: Path) -> Iterator[Home]:
    """For many tests. Whoever runs them may trace them, which its commands must not see."""
    it = Home(directory / "home")
    for name in filter(is_of_tracing, list(it.env)):
        del it.env[name]
    yield it
    it.close()
    check_counts(it.location)


@pytest.fixture
def collector() -> Iterator[Collector]:
    it = Collector()
    yield it
    it.close()


@pytest.fixture(autouse=True)
def untraced(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in filter(is_of_tracing, list(os.environ)):
        monkeypatch.delenv(name)


@pytest.fixture
def home(untraced: None, home: Home) -> Home:
    return home
