"""Whole tables: out in the order of their keys, a chunk at a time, and in as they were.

What is moved where, and whether it arrived, is left to the package `transfer`.
"""

from __future__ import annotations

from contextlib import contextmanager

from queuectl.core.tables import JOBS, TABLES
from queuectl.errors import InvalidInput, StoreError
from queuectl.store.connection import Clash
from queuectl.store.dialect import Insert

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from queuectl.core.tables import Row, Table
    from queuectl.store.connection import Connection

_FIRST_ROWS = 64
_MOST_ROWS = 1_024
_CHUNK_BYTES = 4_000_000  # commands and outputs may be long: about so much is held in memory


class Transfer:
    """Whole tables over the connection of a store."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def count(self, table: Table) -> int:
        where, _ = _rows_of(table, None)
        return int(str(self.connection.all(f"SELECT count(*) FROM {table.name} WHERE {where}")[0][0]))

    def last_key(self, table: Table) -> Row | None:
        where, _ = _rows_of(table, None)
        order = ", ".join(f"{column} DESC" for column in table.key)
        return self.connection.one(
            f"SELECT {', '.join(table.key)} FROM {table.name} WHERE {where} ORDER BY {order} LIMIT 1"
        )

    def chunks(
        self, table: Table, *, after: Row | None = None, first: int = _FIRST_ROWS, most: int = _MOST_ROWS
    ) -> Iterator[list[Row]]:
        """All rows behind that key, in the order of their keys; `first` of them, later up to `most`."""
        limit = first
        names, order = ", ".join(table.names), ", ".join(table.key)
        while True:
            where, values = _rows_of(table, after)
            rows = self.connection.all(
                f"SELECT {names} FROM {table.name} WHERE {where} ORDER BY {order} LIMIT ?", (*values, limit)
            )
            if not rows:
                return
            after = table.key_of(rows[-1])
            size = sum(len(value) for row in rows for value in row if isinstance(value, str | bytes))
            yield [_portable(row) for row in rows]
            limit = _next_limit(len(rows), size, most)

    def put(self, table: Table, rows: Sequence[Row]) -> None:
        """Store rows that are not there yet, durably."""

        def body(earlier: int | None) -> int:
            # Only when our own commit may have arrived can they be there already.
            new = self.connection.insert(_insert_of(table), rows, skip=earlier is not None)
            if new:
                self._count(table, rows)
            return new

        try:
            self.connection.write("copy", body)
        except Clash:
            raise StoreError(
                f"somebody else writes to {self.connection.shown}", "see that nobody uses it, then copy again"
            ) from None

    def put_all(
        self,
        parts: Callable[[], Iterable[tuple[Table, Sequence[Row]]]],
        *,
        before: Callable[[], None],
        arrived: Callable[[], bool],
        after: Callable[[], None],
    ) -> None:
        """Store everything in one transaction, and nothing if any of this raises.

        `before` and `after` look at the store from inside the transaction; `arrived` says whether an earlier
        run of it, whose commit was never confirmed, took effect.
        """

        def body(earlier: int | None) -> int:
            if earlier is not None and arrived():
                return earlier
            before()
            new = 0
            for table, rows in parts():
                new += self.connection.insert(_insert_of(table), rows)
                self._count(table, rows)
            self.number_on()
            after()
            return new

        try:
            self.connection.write("import", body)
        except Clash:  # the keys were compared already
            raise InvalidInput(
                "an id is given twice, or the unique_key of two jobs that have not ended",
                "every job needs an id of its own; finish or change one of the two",
            ) from None

    def _count(self, table: Table, rows: Sequence[Row]) -> None:
        if table is JOBS:
            queue, state = table.names.index("queue"), table.names.index("state")
            self.connection.tally.came((row[queue], row[state]) for row in rows)

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Whatever is read meanwhile is of one moment, and others go on writing. Nothing can be written."""
        self.connection.freeze()
        try:
            yield
        finally:
            self.connection.rollback()

    def wipe(self) -> dict[str, int]:
        """Within `put_all`: delete everything there is; how many rows of each table that were."""
        for kept in ("tallies", "history", "runtimes", "workers"):
            self.connection.run(f"DELETE FROM {kept}")
        return {
            table.name: self.connection.run(f"DELETE FROM {table.name} WHERE {_rows_of(table, None)[0]}")
            for table in TABLES
        }

    def clear(self) -> None:
        """Delete all that travels."""

        def body(_: int | None) -> int:
            for kept in ("tallies", "history", "runtimes"):  # of what is deleted here
                self.connection.run(f"DELETE FROM {kept}")
            return sum(
                self.connection.run(f"DELETE FROM {table.name} WHERE {_rows_of(table, None)[0]}")
                for table in TABLES
            )

        self.connection.write("clear", body)

    def number_on(self) -> None:
        """New rows come behind those that were stored with their numbers: these engines see to it."""


class PostgresTransfer(Transfer):
    """PostgreSQL counts by a sequence, which knows nothing of numbers that it did not give out."""

    def number_on(self) -> None:
        for table in TABLES:
            if table.numbered:
                sequence = f"pg_get_serial_sequence('{table.name}', '{table.numbered}')"
                self.connection.all(
                    f"SELECT setval({sequence}, GREATEST("
                    f"(SELECT max({table.numbered}) FROM {table.name}), nextval({sequence})))"
                )


def _insert_of(table: Table) -> Insert:
    return Insert(table.name, table.names, key=", ".join(table.key))


def _rows_of(table: Table, after: Row | None) -> tuple[str, list[object]]:
    """The condition for the rows behind a key."""
    ours = f"substr({table.private}, 1, 1) <> '_'" if table.private else "1 = 1"
    if after is None:
        return ours, []
    condition, values = _behind(table.key, after)
    return f"{ours} AND {condition}", values


def _behind(key: Sequence[str], values: Sequence[object]) -> tuple[str, list[object]]:
    """(a, b) > (1, 2), in words for which every engine uses its index."""
    column, value = key[0], values[0]
    if len(key) == 1:
        return f"{column} > ?", [value]
    rest, rest_values = _behind(key[1:], values[1:])
    return f"{column} >= ? AND ({column} > ? OR ({rest}))", [value, value, *rest_values]


def _next_limit(rows: int, size: int, most: int) -> int:
    """As many rows as are about a chunk if they go on like these; not many more than now, as they may not."""
    return max(min(rows * 2, most, rows * _CHUNK_BYTES // max(size, 1)), 1)


def _portable(row: Row) -> Row:
    """PostgreSQL has no text with NUL in it; what a failed command printed last may have."""
    if any(isinstance(value, str) and "\0" in value for value in row):
        return tuple(value.replace("\0", "\\x00") if isinstance(value, str) else value for value in row)
    return row
