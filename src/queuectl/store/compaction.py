"""How much room a store takes, and giving back what deleted rows have left: each engine by its own means.

When it is done, and log files, are left to `tidying`.
"""

from __future__ import annotations

import os
import time
from typing import NamedTuple

from queuectl.errors import StoreBusy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queuectl.store.server_connection import ServerConnection
    from queuectl.store.sqlite_connection import SqliteConnection

_TABLES = (
    "jobs", "attempts", "dependencies", "unsettled", "queues", "job_groups", "schedules", "tallies",
    "history", "runtimes", "workers", "config",
)  # fmt: skip
_SHORT_LOG = 4_096  # bytes


class Sizes(NamedTuple):
    """In bytes."""

    total: int  # of the file and its log, or of the tables
    free: int  # of that, what is known to be of no use
    log: int  # a file's write-ahead log


class SqliteCompaction:
    """A file: VACUUM writes all of it anew, and nobody else can write meanwhile."""

    by_itself = False  # nobody else does it

    def __init__(self, connection: SqliteConnection) -> None:
        self._db = connection

    def sizes(self) -> Sizes:
        page, free = (
            int(str(self._db.all(f"PRAGMA {name}")[0][0])) for name in ("page_size", "freelist_count")
        )
        log = _size(self._db.file + "-wal")
        return Sizes(_size(self._db.file) + log, page * free + log, log)

    def compact(self, longest: float | None) -> None:
        """`longest`: seconds that writers can be kept waiting. It is given up in good time, without a change:
        of its two parts, about as long as each other, the first makes a copy, of which we can let go.
        """
        free = int(str(self._db.all("PRAGMA freelist_count")[0][0]))
        if free:
            self._db.vacuum(None if longest is None else time.monotonic() + longest / 2)
        if _size(self._db.file + "-wal") > _SHORT_LOG:
            self._db.all("PRAGMA wal_checkpoint(TRUNCATE)")  # refused while somebody reads what is in it


class ServerCompaction:
    """A server: it does this by itself in time; here at once."""

    by_itself = True

    def __init__(self, connection: ServerConnection) -> None:
        self._db = connection

    def sizes(self) -> Sizes:
        if self._db.dialect.name == "postgres":
            row = self._db.all(
                "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint, 0 FROM pg_class AS c "
                "WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace"
            )[0]
        else:
            row = self._db.all(
                "SELECT CAST(coalesce(sum(data_length + index_length + data_free), 0) AS SIGNED), "
                "CAST(coalesce(sum(data_free), 0) AS SIGNED) FROM information_schema.tables "
                "WHERE table_schema = database()"
            )[0]
        total, free = (int(str(value)) for value in row)
        return Sizes(total, free, 0)

    def compact(self, longest: float | None) -> None:  # noqa: ARG002  # others can write meanwhile
        for table in _TABLES:
            if self._db.dialect.name == "postgres":
                self._db.script(f"VACUUM (ANALYZE) {table}")
            else:
                self._db.all(f"OPTIMIZE TABLE {table}")


def too_long(file: str) -> StoreBusy:
    return StoreBusy(
        f"{file} is too large to be written anew while workers wait for it",
        "nothing was changed; queuectl worker stop, then again",
    )


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return 0
