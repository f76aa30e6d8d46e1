"""The fixtures of the suite: an engine, and a first connection to its store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.support.engines import engines
from tests.support.stores import ENGINES, Engine, MysqlEngine, PostgresEngine

if TYPE_CHECKING:
    from collections.abc import Iterator

    from queuectl.store.api import Store


@pytest.fixture(params=engines())
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    """A fresh store; `.open()` gives connections to it."""
    engine = ENGINES[request.param](tmp_path)
    yield engine
    engine.check()
    engine.close()


@pytest.fixture(scope="session", autouse=True)
def _no_connection_is_left() -> Iterator[None]:
    yield
    PostgresEngine.close_spare()
    MysqlEngine.close_spare()


@pytest.fixture
def store(engine: Engine) -> Store:
    return engine.open()
