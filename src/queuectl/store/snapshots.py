"""Whole SQLite files: a copy of one moment while others write, and one file's content put into another.

Both go through SQLite's own page copier, so no file is ever replaced that somebody has open. When a backup is
made, and what is done with it, is left to the package `transfer`.
"""

from __future__ import annotations

import os
import time

import apsw

from queuectl.core.tables import TABLES
from queuectl.errors import StoreCorrupt, StoreError
from queuectl.failpoints import failpoint
from queuectl.store.migrate import LATEST
from queuectl.store.sqlite_errors import translate
from queuectl.store.sqlite_opening import APPLICATION_ID, create_private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Pages = Callable[[int, int], None]  # how many are copied, and of how many

_PAGES_A_STEP = 1_024
_BUSY_MS = 10_000


class Contents:
    """What a file holds."""

    __slots__ = ("logs", "processing", "rows", "schedules")

    def __init__(self, rows: dict[str, int], processing: int, logs: int, schedules: int) -> None:
        self.rows = rows  # of each table
        self.processing = processing
        self.logs = logs  # attempts whose long output lies in files
        self.schedules = schedules  # that are not paused


def copy_file(file: str, target: str, *, mark: tuple[str, str, int] | None, progress: Pages) -> None:
    """A private copy of the store in `file` as it is now, on the disk when this returns.

    It holds one read transaction: writers go on, and only the log is not folded in meanwhile. `mark` is a row
    for the copy's settings.
    """
    try:
        os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
    except OSError as error:
        raise StoreError(f"cannot write {target}: {error.strerror}", "choose another place") from None
    source = copy = None
    try:
        source, copy = _open(file), apsw.Connection(target)
        # Nobody else knows the copy yet; it is synced as a whole.
        copy.execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF")
        source.execute("BEGIN")
        source.execute("SELECT 1 FROM sqlite_schema LIMIT 1").get  # noqa: B018  # from now on it is of this moment
        _transfer(copy, source, progress)
        # One file, readable anywhere: nothing of it is in a log beside it.
        copy.execute("PRAGMA journal_mode = DELETE")
        if mark is not None:
            copy.execute("INSERT OR REPLACE INTO config (key, value, updated_at) VALUES (?, ?, ?)", mark)
    except apsw.Error as error:
        raise translate(error, file) from error
    finally:
        for connection in (copy, source):
            if connection is not None:
                connection.close()
    sync(target)


def back_up(file: str, target: str) -> None:
    """A private copy of a store, whoever holds its write lock; under its name it is whole or absent."""
    unfinished = target + ".tmp"
    _remove(unfinished)  # of a process that died here
    create_private(unfinished)
    try:
        # A connection of its own: SQLite copies from none that holds the write lock.
        source, copy = apsw.Connection(file), apsw.Connection(unfinished)
        try:
            with copy.backup("main", source, "main") as backup:
                backup.step()
        finally:
            copy.close()
            source.close()
        failpoint("backup.copied")
        os.replace(unfinished, target)
    except apsw.Error as error:
        _remove(unfinished)
        raise translate(error, target) from error


def _remove(file: str) -> None:
    try:
        os.unlink(file)
    except FileNotFoundError:
        pass


def replace_content(file: str, source: str, *, keep: Callable[[], None], progress: Pages) -> None:
    """Put what is in `source` into the store in `file`, in one transaction: all or nothing, whoever dies.

    `keep` is called when nobody can write to it any more, and before anything has changed.
    """
    new, old = _open(source), _open(file)
    try:
        with old.backup("main", new, "main") as backup:
            _first_step(backup)
            failpoint("restore.locked")
            keep()
            failpoint("restore.kept")
            while not backup.done:
                backup.step(_PAGES_A_STEP)
                progress(backup.page_count - backup.remaining, backup.page_count)
                failpoint("restore.copying")
        failpoint("restore.replaced")
        old.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # may be refused while somebody reads: then later
    except apsw.Error as error:
        raise translate(error, file) from error
    finally:
        old.close()
        new.close()


def _first_step(backup: apsw.Backup) -> None:
    """It takes the write lock, which SQLite does not wait for here."""
    deadline = time.monotonic() + _BUSY_MS / 1000
    while True:
        try:
            backup.step(1)
            return
        except apsw.BusyError:
            if time.monotonic() >= deadline:
                raise
            time.sleep(0.01)


def _transfer(copy: apsw.Connection, source: apsw.Connection, progress: Pages) -> None:
    with copy.backup("main", source, "main") as backup:
        while not backup.done:
            backup.step(_PAGES_A_STEP)
            progress(backup.page_count - backup.remaining, backup.page_count)
            failpoint("backup.step")


def fold(file: str) -> None:
    """Make one file of a store that nobody has open: its log is folded in and goes."""
    connection = _open(file)
    try:
        if connection.execute("PRAGMA journal_mode = DELETE").get != "delete":
            raise StoreError(f"somebody has {file} open", "see who: fuser " + file)
    except apsw.Error as error:
        raise translate(error, file) from error
    finally:
        connection.close()
    sync(file)


def look_into(file: str) -> Contents:
    """Read all of a copy: refuses what is damaged, or no store of ours."""
    try:
        connection = apsw.Connection(file, flags=apsw.SQLITE_OPEN_READONLY)
        try:
            return _look_into(connection, file)
        finally:
            connection.close()
    except apsw.Error as error:
        raise translate(error, file) from error


def _look_into(db: apsw.Connection, file: str) -> Contents:
    if db.execute("PRAGMA application_id").get != APPLICATION_ID:
        raise StoreCorrupt(f"{file} is no store of queuectl", "name a file that queuectl backup has made")
    complaints = [row[0] for row in db.execute("PRAGMA integrity_check(1)")]
    if complaints != ["ok"]:
        raise StoreCorrupt(f"{file} is damaged: {complaints[0]}", "take another backup")
    there = {row[0] for row in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    version = int(str(db.execute("PRAGMA user_version").get))
    if version > LATEST:
        raise StoreCorrupt(
            f"{file} is of a newer queuectl (schema {version})", "pip install --upgrade queuectl"
        )

    def count(table: str, condition: str = "1 = 1") -> int:
        found = db.execute(f"SELECT count(*) FROM {table} WHERE {condition}").get if table in there else 0
        return int(str(found))

    return Contents(
        {table.name: count(table.name) for table in TABLES},
        count("jobs", "state = 'processing'"),
        count("attempts", "log IS NOT NULL"),
        count("schedules", "paused_at IS NULL AND next_at IS NOT NULL"),
    )


def logged(file: str) -> Iterator[tuple[int, int]]:
    """Job and run of the attempts in a copy whose long output lies in files."""
    connection = apsw.Connection(file, flags=apsw.SQLITE_OPEN_READONLY)
    try:
        for seq, run in connection.execute("SELECT job_seq, run FROM attempts WHERE log IS NOT NULL"):
            yield int(str(seq)), int(str(run))
    except apsw.Error as error:
        raise translate(error, file) from error
    finally:
        connection.close()


def last_number(file: str) -> int:
    """The greatest number that a job was ever given."""
    connection = _open(file)
    try:
        return int(
            str(connection.execute("SELECT max(seq) FROM sqlite_sequence WHERE name = 'jobs'").get or 0)
        )
    except apsw.Error as error:
        raise translate(error, file) from error
    finally:
        connection.close()


def number_from(file: str, last: int) -> None:
    """New jobs get numbers behind this one."""
    connection = _open(file)
    try:
        known = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'jobs'").get
        if known is None:
            connection.execute("INSERT INTO sqlite_sequence (name, seq) VALUES ('jobs', ?)", (last,))
        else:
            connection.execute("UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = 'jobs'", (last,))
    except apsw.Error as error:
        raise translate(error, file) from error
    finally:
        connection.close()


def is_ours(file: str) -> bool:
    """Whether its head, the first hundred bytes, is that of a store, however the rest may be."""
    with open(file, "rb") as opened:
        head = opened.read(100)
    return head[:16] == b"SQLite format 3\0" and int.from_bytes(head[68:72], "big") == APPLICATION_ID


def sync(path: str) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _open(file: str) -> apsw.Connection:
    connection = apsw.Connection(file, flags=apsw.SQLITE_OPEN_READWRITE)
    connection.set_busy_timeout(_BUSY_MS)
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    return connection
