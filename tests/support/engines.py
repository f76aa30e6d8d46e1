"""The places of the tests' stores, on every engine: a file, or a fresh place on a server.

Servers are left to `tests.support.servers`, imported late: processes that a test starts need none.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from queuectl.address import Address
from queuectl.paths import Location
from queuectl.store.open import open_store

if TYPE_CHECKING:
    from _pytest.mark.structures import MarkDecorator, ParameterSet

    from queuectl.store.api import Store

SERVERS = ("postgres", "mysql")
ENGINES = ("sqlite", *SERVERS)


def engines(*names: str, long: Collection[str] = ()) -> list[ParameterSet]:
    """Parameters for a test that runs on each of these engines, all by default.

    Those on a server have the mark `server`; on the engines of `long` the test is of that tier.
    """
    import pytest

    return [
        pytest.param(
            name,
            marks=[
                *([pytest.mark.server] if name in SERVERS else []),
                *([pytest.mark.long] if name in long else []),
            ],
        )
        for name in names or ENGINES
    ]


def on_engines(*names: str, long: Collection[str] = ()) -> MarkDecorator:
    """A mark for tests whose store (the fixture `store_url`) is on each of these engines, all by default."""
    import pytest

    return pytest.mark.parametrize("store_url", engines(*names, long=long), indirect=True)


def engine_pairs() -> list[ParameterSet]:
    """Parameters for a test from each engine to each; by default from a file to PostgreSQL and back."""
    import pytest

    by_default = {("sqlite", "postgres"), ("postgres", "sqlite")}
    return [
        pytest.param(
            source,
            target,
            marks=[
                *([pytest.mark.server] if {source, target} & set(SERVERS) else []),
                *([] if (source, target) in by_default else [pytest.mark.long]),
            ],
        )
        for source in ENGINES
        for target in ENGINES
    ]


@contextmanager
def fresh_store(engine: str) -> Iterator[str | None]:
    """The URL of a place that is dropped afterwards; None for SQLite: it is the file in the test's home."""
    if engine == "sqlite":
        yield None
        return
    from tests.support.servers import drop, fresh_url

    url = fresh_url(engine)
    try:
        yield url
    finally:
        drop(url)


@dataclass(frozen=True)
class Place:
    """Where a store is; other processes can be told."""

    directory: str
    url: str | None = None  # None: it is a file in the directory

    def location(self) -> Location:
        if self.url is None:
            file = os.path.join(self.directory, "queue.db")
            return Location(file, file, self.directory)
        address = Address(self.url)
        return Location(self.url, "", self.directory, engine=address.engine, shown=address.shown)

    def open(self, *, create: bool = True) -> Store:
        return open_store(self.location(), create=create)
