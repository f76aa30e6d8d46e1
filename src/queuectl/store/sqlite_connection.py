"""One SQLite connection: statements, transactions, the identity of its file.

How a file is opened is left to `sqlite_opening`, what its errors mean to `sqlite_errors`, inserting very many
rows to `sqlite_bulk`.
"""

from __future__ import annotations

import os
import time

import apsw

from queuectl.errors import QueuectlError, StoreError, StoreReplaced
from queuectl.failpoints import failpoint
from queuectl.store.connection import Clash
from queuectl.store.dialect import Dialect
from queuectl.store.sqlite_opening import check_engine, open_file, patiently
from queuectl.store.tallies import TALLIES, Tally

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from queuectl.store.connection import Followed, Row, T
    from queuectl.store.dialect import Insert, Sum, Update

# Also what apsw raises for text that is no text: from bytes on a command line, or in a damaged file.
_DRIVER_ERRORS = (apsw.Error, UnicodeError)

_MANY = 100  # rows: by fewer, little is gained

# To read the log takes 2.4 µs a page (4 kB), to do away with it 2 ms: an `enqueue` adds five.
_LONG_LOG = 1_000_000


class SqliteConnection:
    """Execute, and write in transactions that are retried while the file is locked."""

    def __init__(self, file: str, *, create: bool, busy_ms: int) -> None:
        self.dialect = Dialect()
        self.tally = Tally()
        self.settings: Followed | None = None
        self.file = self.shown = file
        self._busy_ms = busy_ms
        self._pid = os.getpid()
        check_engine()
        self._connect(create=create)

    def _connect(self, *, create: bool) -> None:
        try:
            self._db = open_file(self.file, create=create, busy_ms=self._busy_ms)
        except apsw.Error as error:
            raise _translated(error, self.file) from error
        self._inode = self._file_identity()

    def be_patient(self, busy_ms: int) -> None:
        """How long to wait for others from now on."""
        self._busy_ms = busy_ms
        self._db.set_busy_timeout(busy_ms)

    def relax_durability(self) -> None:
        """Do not wait for the disk at each commit: a power loss can then cost the last moments."""
        self._db.execute("PRAGMA synchronous = NORMAL")

    def all(self, sql: str, values: Sequence[object] = ()) -> list[Row]:
        """All rows of a query."""
        self._check_process()
        try:
            return self._db.execute(sql, values).fetchall()
        except _DRIVER_ERRORS as error:
            raise _translated(error, self.file) from error

    def one(self, sql: str, values: Sequence[object] = ()) -> Row | None:
        rows = self.all(sql, values)
        return rows[0] if rows else None

    def run(self, sql: str, values: Sequence[object] = ()) -> int:
        """Execute a statement; how many rows it changed."""
        try:
            self._db.execute(sql, values)
            return self._db.changes()
        except _DRIVER_ERRORS as error:
            raise _translated(error, self.file) from error

    def insert(
        self,
        what: Insert,
        rows: Sequence[Sequence[object]],
        *,
        common: Sequence[object] = (),
        skip: bool = False,
    ) -> int:
        """See `Connection`."""
        rule = f" ON CONFLICT ({what.key}) DO NOTHING" if skip else ""
        before = self._db.total_changes()
        try:
            if len(rows) < _MANY:
                one = f"INSERT INTO {what.table} ({what.names}) VALUES {what.marks()}{rule}"
                self._db.executemany(one, [(*row, *common) for row in rows])
            else:
                from queuectl.store.sqlite_bulk import insert_many

                insert_many(self._db, what, rows, common, rule)
        except _DRIVER_ERRORS as error:
            raise self._failure(error, before) from error
        return self._db.total_changes() - before

    def update(self, what: Update, rows: Sequence[Sequence[object]]) -> int:
        """Change many rows; how many were as expected and have been changed."""
        sets, where = what.render(lambda _: "?")
        return self.many(f"UPDATE {what.table} SET {sets} WHERE {' AND '.join(where)}", rows)

    def sum(self, what: Sum, rows: Sequence[Sequence[object]]) -> None:
        """Add amounts to the rows with these keys, which are made where they are missing."""
        names, amount = what.names, what.amount
        latest = f", {what.latest} = excluded.{what.latest}" if what.latest else ""
        self.many(
            f"INSERT INTO {what.table} ({names}) VALUES ({', '.join('?' * len(rows[0]))}) "
            f"ON CONFLICT ({what.key}) DO UPDATE SET {amount} = {amount} + excluded.{amount}{latest}",
            rows,
        )

    def many(self, sql: str, rows: Iterable[Sequence[object]]) -> int:
        """Execute a statement for each row; how many rows were changed in all."""
        before = self._db.total_changes()
        try:
            self._db.executemany(sql, rows)
        except _DRIVER_ERRORS as error:
            raise self._failure(error, before) from error
        return self._db.total_changes() - before

    def _failure(self, error: apsw.Error | UnicodeError, before: int) -> QueuectlError:
        translated = _translated(error, self.file)
        if isinstance(translated, Clash):
            translated.done = self._db.total_changes() - before
        return translated

    def script(self, sql: str) -> None:
        try:
            self._db.execute(sql)
        except apsw.Error as error:
            raise _translated(error, self.file) from error

    def write(self, point: str, body: Callable[[T | None], T]) -> T:
        """Run `body` in a transaction, once: only a failing disk leaves open what became of its commit."""
        with self.transaction(point):
            self.tally.clear()
            result = body(None)
            if rows := self.tally.take():
                self.sum(TALLIES, rows)
            return result

    def transaction(self, point: str) -> Transaction:
        return Transaction(self, point)

    def data_version(self) -> int:
        """Changes whenever another connection has written."""
        return int(str(self.all("PRAGMA data_version")[0][0]))

    def check_identity(self) -> None:
        """Refuse to go on when the file was deleted or replaced: our writes would reach nobody."""
        try:
            same = self._file_identity() == self._inode
        except (FileNotFoundError, NotADirectoryError):
            same = False
        if not same:
            raise StoreReplaced(
                f"{self.file} was deleted or replaced while it was in use",
                "stop the workers (queuectl worker stop), put the right file back, start again",
            )

    def _check_process(self) -> None:
        if self._pid != os.getpid():
            raise StoreError("a database connection cannot be used after a fork", "open a new one")

    def begin(self) -> None:
        self._check_process()
        self.check_identity()
        try:
            # IMMEDIATE: a transaction that reads first and writes later could not be retried.
            patiently(self._db, "BEGIN IMMEDIATE", self._busy_ms)
        except apsw.Error as error:
            raise _translated(error, self.file) from error

    def commit(self) -> None:
        try:
            self._db.execute("COMMIT")
        except apsw.Error as error:
            self.rollback()
            raise _translated(error, self.file, committing=True) from error

    def rollback(self) -> None:
        if self._db.in_transaction:
            self._db.execute("ROLLBACK")

    def freeze(self) -> None:
        """From now on, until `rollback`, everything that is read is of this moment."""
        self.script("BEGIN")
        self.all("SELECT 1 FROM sqlite_schema LIMIT 1")

    def vacuum(self, until: float | None) -> None:
        """Write the whole file anew; given up when the making of the copy goes on past a monotonic time."""
        self.check_identity()
        if until is not None:
            self._db.set_progress_handler(lambda: time.monotonic() > until, 10_000)
        try:
            patiently(self._db, "VACUUM", self._busy_ms)
        except apsw.InterruptError:
            from queuectl.store.compaction import too_long

            raise too_long(self.file) from None
        except apsw.Error as error:
            raise _translated(error, self.file) from error
        finally:
            self._db.set_progress_handler(None)

    def close(self) -> None:
        """Leave the log behind, unless it is long: whoever opens the file next, alone, reads it all first."""
        try:
            if os.stat(self.file + "-wal").st_size > _LONG_LOG:
                self._db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)  # done by whoever is the last
        except (OSError, apsw.ConnectionClosedError):
            pass  # there is none; we have closed already
        self._db.close()

    def _file_identity(self) -> tuple[int, int]:
        info = os.stat(self.file)
        return info.st_dev, info.st_ino


class Transaction:
    """Commits at the end of the block, rolls back if it raised."""

    __slots__ = ("_connection", "_point")

    def __init__(self, connection: SqliteConnection, point: str) -> None:
        self._connection = connection
        self._point = point

    def __enter__(self) -> SqliteConnection:
        self._connection.begin()
        return self._connection

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if kind is not None:
            self._connection.rollback()
            return
        try:
            failpoint(self._point + ".before_commit")
        except BaseException:
            self._connection.rollback()
            raise
        self._connection.commit()
        failpoint(self._point + ".committed")


def _translated(error: apsw.Error | UnicodeError, file: str, *, committing: bool = False) -> QueuectlError:
    from queuectl.store.sqlite_errors import translate

    return translate(error, file, committing=committing)
