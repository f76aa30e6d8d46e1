"""What is asked of a SQLite file: engine, identity, integrity, tables and indexes. It is opened read-only.

Its mode, its directory and its disk are left to `queuectl.doctor`.
"""

from __future__ import annotations

import os
from functools import partial
from shlex import quote as quoted
from urllib.parse import quote

import apsw

from queuectl.errors import StoreError
from queuectl.store import health
from queuectl.store.dialect import Dialect
from queuectl.store.health import NOTE, OK, PROBLEM, WARNING, Finding
from queuectl.store.migrate import LATEST, is_compatible, schema_version
from queuectl.store.sqlite import SqliteStore
from queuectl.store.sqlite_connection import SqliteConnection
from queuectl.store.sqlite_errors import translate
from queuectl.store.sqlite_opening import APPLICATION_ID, check_engine
from queuectl.store.tallies import Tally

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from queuectl.paths import Location
    from queuectl.store.connection import Row

_BUSY_MS = 2_000
_MOST_COMPLAINTS = 5
_MUCH_FREE = 64 * 2**20
_OBJECTS = "SELECT name, type, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite%'"
_WAL_FORMAT = 2  # the 19th byte of a file that is read through its log


class ReadOnlyConnection(SqliteConnection):
    """As `SqliteConnection`, but it cannot write, and makes no file beside the database."""

    def __init__(self, file: str) -> None:
        self.dialect = Dialect()
        self.tally = Tally()
        self.file = self.shown = file
        self._busy_ms = _BUSY_MS
        self._pid = os.getpid()
        if not os.path.exists(file):
            raise StoreError(f"there is no database at {file}", "queuectl init")
        self.alone = _has_no_log(file)
        address = f"file:{quote(file)}?mode=ro" + ("&immutable=1" if self.alone else "")
        try:
            self._db = apsw.Connection(address, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
            self._db.set_busy_timeout(_BUSY_MS)
            self._db.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
            self._db.config(apsw.SQLITE_DBCONFIG_ENABLE_VIEW, 0)
            # The first look into the file: it may be none of SQLite's.
            self._db.execute("PRAGMA schema_version").fetchall()
        except apsw.Error as error:
            raise translate(error, file) from error
        self._inode = self._file_identity()


def _has_no_log(file: str) -> bool:
    """Whether its log is folded in and nobody has it open: SQLite makes a new one, even for a reader."""
    if os.path.exists(file + "-wal"):
        return False
    try:
        with open(file, "rb") as opened:
            head = opened.read(20)
    except OSError:
        return False
    return len(head) == 20 and head[18] == _WAL_FORMAT


class SqlitePatient(SqliteStore):
    """The store, only to be looked at. `SqliteStore` itself would make, switch to WAL, and migrate."""

    connection: ReadOnlyConnection

    def __init__(self, location: Location) -> None:
        self.location = location
        self.connection = ReadOnlyConnection(location.file)

    def examine(self, *, now: Callable[[], int], full: bool = False) -> list[Finding]:  # noqa: ARG002
        found = self._examine(full)
        if self.connection.alone and os.path.exists(self.location.file + "-wal"):
            # Somebody began to write, and we did not look out for that: once more, with open eyes.
            self.connection.close()
            self.connection = ReadOnlyConnection(self.location.file)
            found = self._examine(full)
        return found

    def _examine(self, full: bool) -> list[Finding]:
        db = self.connection
        found = engine()
        found += health.look("tables", [("schema", partial(identity, db))])
        if any(finding.fatal for finding in found):
            return found
        checks: list[health.Check] = [
            ("journal", partial(journal, db)),
            ("integrity", partial(integrity, db, full=full)),
            ("tables and indexes", partial(schema, db)),
            ("size", partial(size, db)),
            ("running jobs", partial(health.stuck, db)),
        ]
        if schema_version(db) == LATEST:
            checks.append(("counts", partial(health.counts, db, full=full)))
        return found + health.look("tables", checks)

    def waiting(self) -> list[health.Waiting]:
        return health.waiting(self.connection)

    def trapped(self) -> health.Trapped:
        return health.trapped(self.connection)


def engine() -> list[Finding]:
    try:
        check_engine()
    except StoreError as error:
        why = "it can lose committed rows when several processes write"
        return [
            Finding(
                PROBLEM, "engine", error.message, why=why, mend=error.hint or "pip install --upgrade apsw"
            )
        ]
    return [Finding(OK, "engine", f"SQLite {apsw.sqlite_lib_version()}")]


def identity(db: SqliteConnection) -> list[Finding]:
    """Whose file it is, and of which version."""
    application = int(str(db.all("PRAGMA application_id")[0][0]))
    tables = bool(db.all("SELECT 1 FROM sqlite_schema LIMIT 1"))
    if application != APPLICATION_ID and (tables or application):
        return [health.foreign(db.file, "choose another file with --db")]
    if not tables:
        return [health.no_queue(db.file)]
    found = schema_version(db)
    return health.schema_version(
        found, LATEST, db.file, compatible=found > LATEST and is_compatible(db, found)
    )


def journal(db: SqliteConnection) -> list[Finding]:
    mode = str(db.all("PRAGMA journal_mode")[0][0])
    if mode == "wal":
        return [Finding(OK, "durability", "journal mode: wal")]
    return [
        Finding(
            WARNING,
            "durability",
            f"journal mode: {mode}",
            why="readers and writers wait for each other; somebody else has switched it",
            mend="queuectl init",
        )
    ]


def integrity(db: SqliteConnection, *, full: bool = False) -> list[Finding]:
    """Reads the whole file; `full` also compares every index with its table."""
    name = "integrity_check" if full else "quick_check"
    complaints = [str(row[0]) for row in db.all(f"PRAGMA {name}({_MOST_COMPLAINTS})")]
    if complaints == ["ok"]:
        return [Finding(OK, "durability", f"{name}: ok")]
    return [
        Finding(
            PROBLEM,
            "durability",
            f"{name}: " + " ".join("; ".join(complaints).split())[:300],
            why="the file is damaged: jobs may be lost or run twice",
            mend="queuectl worker stop, then queuectl restore FILE with the newest backup; without one: "
            f"sqlite3 {quoted(db.file)} .recover | sqlite3 NEW.db",
        )
    ]


def schema(db: SqliteConnection) -> list[Finding]:
    """Tables and indexes, against those that our migrations make in memory."""
    if schema_version(db) != LATEST:
        return []
    wanted, there = _wanted(), _by_name(db.all(_OBJECTS))
    found = []
    for name, (kind, sql) in wanted.items():
        if there.get(name) == (kind, sql):
            continue
        state = "is missing" if name not in there else "is not as queuectl made it"
        index = kind == "index"
        found.append(
            Finding(
                PROBLEM,
                "indexes" if index else "tables",
                f"{kind} {name} {state}",
                why="each claim has to read the whole table" if index else "queuectl cannot work with it",
                mend=f"with the workers stopped: sqlite3 {quoted(db.file)} {quoted(' '.join(sql.split()))}"
                if index
                else "go back to a backup: queuectl worker stop, then queuectl restore FILE",
            )
        )
    found += [_planted(db, kind, name) for name, (kind, _) in there.items() if kind in ("trigger", "view")]
    return found or [Finding(OK, "indexes", f"all {len(wanted)} tables and indexes are there")]


def _planted(db: SqliteConnection, kind: str, name: str) -> Finding:
    drop = f"DROP {kind.upper()} " + '"' + name.replace('"', '""') + '"'
    return Finding(
        PROBLEM,
        "tables",
        f"{kind} {name} is not queuectl's",
        why="queuectl does not execute it, but other programs do, and whoever made it can add jobs as well",
        mend=f"sqlite3 {quoted(db.file)} {quoted(drop)}",
    )


def _wanted() -> dict[str, tuple[str, str]]:
    directory = os.path.join(os.path.dirname(__file__), "migrations", "sqlite")
    memory = apsw.Connection(":memory:")
    try:
        for name in sorted(os.listdir(directory)):
            with open(os.path.join(directory, name), encoding="utf-8") as file:
                memory.execute(file.read())
        return _by_name(memory.execute(_OBJECTS).fetchall())
    finally:
        memory.close()


def _by_name(rows: list[Row]) -> dict[str, tuple[str, str]]:
    return {str(name): (str(kind), str(sql)) for name, kind, sql in rows}


def size(db: SqliteConnection) -> list[Finding]:
    page, pages, free = (
        int(str(db.all(f"PRAGMA {name}")[0][0])) for name in ("page_size", "page_count", "freelist_count")
    )
    shown = f"{health.shown_size(page * pages)} in the file, {health.shown_size(page * free)} of it free"
    if page * free < _MUCH_FREE or free < pages // 2:
        return [Finding(OK, "tables", shown)]
    return [
        Finding(
            NOTE,
            "tables",
            shown,
            why="deleted jobs leave room that only new jobs use",
            mend="queuectl vacuum",
        )
    ]
