"""The engines that the suite runs on. A new one adds a class here and its name to ENGINES."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from tests.servers import drop, fresh_url

from queuectl.address import Address
from queuectl.paths import Location
from queuectl.store.open import open_store

if TYPE_CHECKING:
    from queuectl.store.api import Store


class Engine(Protocol):
    """One fresh store, and as many connections to it as a test likes."""

    def open(self) -> Store:
        """A connection of its own to the store."""
        ...

    def location(self) -> Location: ...

    def another(self) -> Engine:
        """A second fresh store of the same kind."""
        ...

    def close(self) -> None:
        """Close all that was opened, and leave nothing behind."""
        ...


class SqliteEngine:
    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._opened: list[Store] = []
        self._others: list[SqliteEngine] = []

    def location(self) -> Location:
        file = str(self.directory / "queue.db")
        return Location(file, file, str(self.directory))

    def open(self) -> Store:
        store = open_store(self.location())
        self._opened.append(store)
        return store

    def another(self) -> SqliteEngine:
        other = type(self)(self.directory / f"another-{len(self._others)}")
        self._others.append(other)
        return other

    def close(self) -> None:
        for store in self._opened:
            store.close()
        for other in self._others:
            other.close()


class ServerEngine(SqliteEngine):
    name = ""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.url = fresh_url(self.name)

    def location(self) -> Location:
        address = Address(self.url)
        return Location(self.url, "", str(self.directory), engine=address.engine, shown=address.shown)

    def close(self) -> None:
        super().close()
        drop(self.url)


class PostgresEngine(ServerEngine):
    name = "postgres"


class MysqlEngine(ServerEngine):
    name = "mysql"


ENGINES = {"sqlite": SqliteEngine, "postgres": PostgresEngine, "mysql": MysqlEngine}
