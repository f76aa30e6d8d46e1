"""The engines that the suite runs on. A new one adds a class here and its name to ENGINES."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Protocol

from queuectl.address import Address
from queuectl.errors import QueuectlError
from queuectl.paths import Location
from queuectl.store.open import open_store
from tests.support.servers import drop, fresh_url

if TYPE_CHECKING:
    from queuectl.store.api import Store


# Empty in a new store. Those that refer to others come first.
TABLES = (
    *("attempts", "dependencies", "unsettled", "job_groups", "jobs", "workers", "config", "queues"),
    *("schedules", "tallies", "history", "runtimes"),
)


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
    """Its place was used before and emptied: to make and drop the tables of a fresh one takes longer than
    most tests."""

    name = ""
    number_anew = ""
    spare: ClassVar[list[str]]

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.url = self.spare.pop() if self.spare else fresh_url(self.name)

    def location(self) -> Location:
        address = Address(self.url)
        return Location(self.url, "", str(self.directory), engine=address.engine, shown=address.shown)

    def close(self) -> None:
        super().close()
        try:
            self._empty()
        except QueuectlError:  # whatever was done to it
            drop(self.url)
        else:
            self.spare.append(self.url)

    def _empty(self) -> None:
        store = open_store(self.location())
        db = store.connection  # type: ignore[attr-defined]  # not of the protocol
        used = [table for table in TABLES if db.all(f"SELECT 1 FROM {table} LIMIT 1")]
        for table in used:
            db.run(f"DELETE FROM {table}")
        db.run(self.number_anew)  # jobs may have come and gone
        store.close()


class PostgresEngine(ServerEngine):
    name = "postgres"
    number_anew = "ALTER SEQUENCE jobs_seq_seq RESTART"
    spare: ClassVar[list[str]] = []


class MysqlEngine(ServerEngine):
    name = "mysql"
    number_anew = "ALTER TABLE jobs AUTO_INCREMENT = 1"
    spare: ClassVar[list[str]] = []


ENGINES = {"sqlite": SqliteEngine, "postgres": PostgresEngine, "mysql": MysqlEngine}
