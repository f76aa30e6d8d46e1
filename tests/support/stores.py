"""The engines that the suite runs on. A new one adds a class here and its name to ENGINES."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Protocol

from queuectl.address import Address
from queuectl.errors import QueuectlError
from queuectl.paths import Location
from queuectl.store.open import open_store
from tests.support.counts import check_counts, check_counts_of
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

    def check(self) -> None:
        """Fail if the counts that the store keeps are not those of its rows."""
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

    def check(self) -> None:
        check_counts(self.location())

    def close(self) -> None:
        for store in self._opened:
            store.close()
        for other in self._others:
            other.close()


class ServerEngine(SqliteEngine):
    """Its place was used before and emptied: to make and drop the tables of a fresh one takes longer than
    most tests. One connection to each place stays open, for what is done between two tests. Numbers of jobs
    go on where the last test left them: to begin anew takes longer than all the rest.
    """

    name = ""
    spare: ClassVar[list[Store]]

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self._own = self.spare.pop() if self.spare else open_store(_place(fresh_url(self.name)))
        self.url = self._own.location.url

    def location(self) -> Location:
        return _place(self.url, str(self.directory))

    def check(self) -> None:
        try:
            check_counts_of(self._own)
        except QueuectlError:  # whatever was done to it
            check_counts(self.location())

    def close(self) -> None:
        super().close()
        try:
            self._empty()
        except QueuectlError:
            self._own.close()
            drop(self.url)
        else:
            self.spare.append(self._own)

    def _empty(self) -> None:
        db = self._own.connection
        ((*found,),) = db.all(f"SELECT {', '.join(f'EXISTS (SELECT 1 FROM {table})' for table in TABLES)}")
        for table, used in zip(TABLES, found, strict=True):
            if used:
                db.run(f"DELETE FROM {table}")

    @classmethod
    def close_spare(cls) -> None:
        while cls.spare:
            cls.spare.pop().close()


def _place(url: str, directory: str = "/nowhere") -> Location:
    address = Address(url)
    return Location(url, "", directory, engine=address.engine, shown=address.shown)


class PostgresEngine(ServerEngine):
    name = "postgres"
    spare: ClassVar[list[Store]] = []


class MysqlEngine(ServerEngine):
    name = "mysql"
    spare: ClassVar[list[Store]] = []


ENGINES = {"sqlite": SqliteEngine, "postgres": PostgresEngine, "mysql": MysqlEngine}
