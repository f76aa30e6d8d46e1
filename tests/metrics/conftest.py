"""A fresh store on each engine, as in the conformance suite, and a queue over it whose clock stands still."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.conformance.conftest import engine, store
from tests.support.jobs import NOW

from queuectl.config.settings import Settings
from queuectl.queue import Queue
from queuectl.testing import FakeClock

if TYPE_CHECKING:
    from queuectl.store.api import Store

__all__ = ["engine", "store"]


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(NOW)


@pytest.fixture
def queue(store: Store, clock: FakeClock) -> Queue:
    return Queue(store, Settings(), clock)
