"""A SQLite file, opened: made if it is missing, refused if it is not ours, set up for many at once.

The driver's errors are left to the caller, what is done with the file then to `sqlite_connection`.
"""

from __future__ import annotations

import os
import time

import apsw

from queuectl.errors import StoreCorrupt, StoreError, StoreMissing

APPLICATION_ID = 0x51435431  # "QCT1"

# Engines before this can corrupt or lose committed rows when several processes share a WAL.
_OLDEST_ENGINE = (3, 51, 3)


def open_file(file: str, *, create: bool, busy_ms: int) -> apsw.Connection:
    if create:
        create_private(file)
    elif not os.path.exists(file):
        raise StoreMissing(f"there is no database at {file}", "queuectl enqueue makes one")
    db = apsw.Connection(file, flags=apsw.SQLITE_OPEN_READWRITE)
    db.set_busy_timeout(busy_ms)
    db.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
    # We have none: one in the file would change jobs behind our back, or make them up.
    db.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
    db.config(apsw.SQLITE_DBCONFIG_ENABLE_VIEW, 0)
    # Before anything that leaves a trace: setting the journal mode rewrites the file's head.
    _refuse_foreign(db, file)
    # Closing must stay cheap: a checkpoint at every `enqueue` would cost three more fsyncs.
    db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    # Several processes may be making the file: the switch to WAL does not wait for its turn.
    mode = patiently(db, "PRAGMA journal_mode = WAL", busy_ms)
    if mode != "wal":
        raise StoreError(
            f"{file}: SQLite cannot use its write-ahead log here",
            "put the database on a local disk",
        )
    db.execute(
        "PRAGMA synchronous = FULL; PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0; "
        "PRAGMA journal_size_limit = 67108864"
    )
    return db


def check_engine() -> None:
    version = tuple(int(part) for part in apsw.sqlite_lib_version().split("."))
    if version < _OLDEST_ENGINE:
        raise StoreError(
            f"SQLite {apsw.sqlite_lib_version()} can lose committed rows (WAL-reset bug)",
            "pip install --upgrade apsw",
        )


def create_private(file: str) -> None:
    """Make the file 0600 from its first moment; SQLite gives its -wal and -shm the same mode."""
    try:
        os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        return
    except OSError as error:
        raise StoreError(
            f"cannot create {file}: {error.strerror}",
            "choose another place with QUEUECTL_HOME or --db",
        ) from error


def _refuse_foreign(db: apsw.Connection, file: str) -> None:
    """Only our own databases, and empty files, are ever touched."""
    if _application_id(db) == APPLICATION_ID:
        return
    tables = db.execute("SELECT 1 FROM sqlite_schema LIMIT 1").get
    # Asked again after the tables: who creates them sets the id in the same transaction.
    application = _application_id(db)
    if application != APPLICATION_ID and (tables or application):
        raise StoreCorrupt(f"{file} is a database of another program", "choose another file with --db")
    # The smallest page. SQLite takes less than that for nothing, and would begin anew.
    if 0 < os.stat(file).st_size < 512:
        raise StoreCorrupt(f"{file} is damaged or not a database: it was cut off")


def _application_id(db: apsw.Connection) -> int:
    return int(str(db.execute("PRAGMA application_id").get))


def patiently(db: apsw.Connection, sql: str, busy_ms: int) -> object:
    """Execute what SQLite may refuse as locked at once, whatever its own timeout."""
    deadline = time.monotonic() + busy_ms / 1000
    while True:
        try:
            return db.execute(sql).get
        except apsw.BusyError:
            if time.monotonic() >= deadline:
                raise
            from random import uniform  # rarely needed, and slow to import

            time.sleep(uniform(0.001, 0.02))
