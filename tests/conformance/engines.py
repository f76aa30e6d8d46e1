"""The engines that the suite runs on. A new one adds a class here and its name to ENGINES."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from queuectl.paths import Location
from queuectl.store.open import open_store

if TYPE_CHECKING:
    from queuectl.store.api import Store


class Engine(Protocol):
    """One fresh store, and as many connections to it as a test likes."""

    def open(self) -> Store:
        """A connection of its own to the store."""
        ...

    def another(self) -> Engine:
        """A second fresh store of the same kind."""
        ...

    def close(self) -> None:
        """Close all that was opened, and leave nothing behind."""
        ...


class SqliteEngine:
    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._opened: list[Store] = []
        self._others: list[SqliteEngine] = []

    def open(self) -> Store:
        file = str(self._directory / "queue.db")
        store = open_store(Location(file, file, str(self._directory)))
        self._opened.append(store)
        return store

    def another(self) -> SqliteEngine:
        directory = self._directory / f"another-{len(self._others)}"
        self._others.append(SqliteEngine(directory))
        return self._others[-1]

    def close(self) -> None:
        for store in self._opened:
            store.close()
        for other in self._others:
            other.close()


ENGINES = {"sqlite": SqliteEngine}
