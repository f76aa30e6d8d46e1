"""One connection to SQLite: durable by default, rolled back on errors, patient with locks."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from queuectl.errors import StoreBusy, StoreError
from queuectl.store.connection import Clash
from queuectl.store.dialect import Insert
from queuectl.store.snapshots import back_up
from queuectl.store.sqlite_connection import SqliteConnection as Connection

if TYPE_CHECKING:
    from collections.abc import Iterator

STUMBLE = """
import sys
from queuectl.store.sqlite_connection import SqliteConnection as Connection
connection = Connection(sys.argv[1], create=False, busy_ms=0)
try:
    with connection.transaction("stumble") as db:
        db.run("INSERT INTO t VALUES (1)")
except OSError as error:
    print(error.strerror)
with connection.transaction("write") as db:
    db.run("INSERT INTO t VALUES (2)")
print(connection.all("SELECT a FROM t"))
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    return str(tmp_path / "c.db")


@pytest.fixture
def connection(file: str) -> Iterator[Connection]:
    connection = Connection(file, create=True, busy_ms=50)
    connection.script("PRAGMA application_id = 0x51435431; CREATE TABLE t (a INTEGER UNIQUE NOT NULL)")
    yield connection
    connection.close()


def rows(connection: Connection) -> list[object]:
    return [row[0] for row in connection.all("SELECT a FROM t ORDER BY a")]


def test_acknowledged_means_fsynced_unless_told_otherwise(connection: Connection) -> None:
    assert connection.all("PRAGMA journal_mode") == [("wal",)]
    assert connection.all("PRAGMA synchronous") == [(2,)]
    connection.relax_durability()
    assert connection.all("PRAGMA synchronous") == [(1,)]


def test_a_block_that_raises_leaves_nothing(connection: Connection) -> None:
    def fail() -> None:
        with connection.transaction("write") as db:
            db.run("INSERT INTO t VALUES (1)")
            raise KeyError("ours")

    with pytest.raises(KeyError):
        fail()
    assert rows(connection) == []
    with connection.transaction("write") as db:
        db.run("INSERT INTO t VALUES (2)")
    assert rows(connection) == [2]


def test_a_statement_that_fails_is_told_in_our_words(connection: Connection) -> None:
    with pytest.raises(StoreError, match="no such table: nowhere"):
        connection.all("SELECT * FROM nowhere")
    with pytest.raises(StoreError, match="NOT NULL"):
        connection.run("INSERT INTO t VALUES (NULL)")


def test_a_clash_says_how_many_rows_went_in_before_it(connection: Connection) -> None:
    with pytest.raises(Clash) as caught:
        connection.many("INSERT INTO t VALUES (?)", [(1,), (2,), (1,), (3,)])
    assert caught.value.done == 2


VALUES = [None, 0, 1, -(2**63), 2**63 - 1, 0.5, 2.0, "", "x", "1", "é ✓", b"", b"\0x"]


@pytest.mark.parametrize("count", [1, 99, 100, 101, 250])
@pytest.mark.parametrize("width", [0, 1, 2])
def test_rows_that_go_in_together_are_the_same_as_one_by_one(
    connection: Connection, count: int, width: int
) -> None:
    """In number, order, value and type, however much they have in common."""
    what = Insert("m", ("id", "a", "b"), zeros=("z",), key="id")
    connection.script("CREATE TABLE m (seq INTEGER PRIMARY KEY, id TEXT UNIQUE, a, b, z INTEGER)")
    common = tuple(VALUES[count % 7 : count % 7 + width])
    whole = [
        (f"j{count - n}", *[VALUES[(n + k) % len(VALUES)] for k in range(2 - width)], *common)
        for n in range(count)
    ]
    rows = [row[: 3 - width] for row in whole]
    assert connection.insert(what, rows, common=common) == count
    assert connection.all("SELECT id, a, b FROM m ORDER BY seq") == whole
    assert connection.all("SELECT DISTINCT z FROM m") == [(0,)]
    for row, types in zip(
        whole, connection.all("SELECT typeof(a), typeof(b) FROM m ORDER BY seq"), strict=True
    ):
        connection.run("DELETE FROM m")
        connection.run("INSERT INTO m (id, a, b, z) VALUES (?, ?, ?, 0)", row)
        assert connection.all("SELECT typeof(a), typeof(b) FROM m") == [types]


@pytest.mark.parametrize("place", [0, 1, 98, 99, 100, 101, 199, 249])
def test_a_clash_among_very_many_says_how_many_went_in_before_it(connection: Connection, place: int) -> None:
    what = Insert("t", ("a",), key="a")
    connection.run("INSERT INTO t VALUES (1000)")
    new = [(n,) for n in range(250)]
    new[place] = (1000,)
    with pytest.raises(Clash) as caught, connection.transaction("write"):
        connection.insert(what, new)
    assert caught.value.done == place
    assert rows(connection) == [1000], "and all of it is rolled back"
    assert connection.insert(what, new, skip=True) == 249
    assert len(rows(connection)) == 250


def fill(connection: Connection) -> None:
    with connection.transaction("write") as db:
        db.run("CREATE TABLE big AS SELECT randomblob(2000000) AS b")


def test_a_long_log_does_not_outlive_the_last_who_has_the_file_open(
    connection: Connection, file: str
) -> None:
    """Else whoever comes next, alone, would read all of it, and who comes after that too."""
    log = Path(file + "-wal")
    other = Connection(file, create=False, busy_ms=50)
    fill(other)
    other.close()
    assert log.stat().st_size > 2_000_000, "somebody still uses it"
    connection.close()
    assert not log.exists()
    connection.close()  # a second time is no mistake


def test_a_short_log_is_left_behind(connection: Connection, file: str) -> None:
    """To do away with it would cost every `enqueue` three fsyncs."""
    connection.close()
    assert 0 < Path(file + "-wal").stat().st_size < 100_000


def test_who_waits_too_long_for_the_lock_is_told_so(connection: Connection, file: str) -> None:
    other = Connection(file, create=False, busy_ms=20)
    with connection.transaction("write"):
        with pytest.raises(StoreBusy, match="locked"):
            other.begin()
        assert other.all("SELECT a FROM t") == [], "readers are not kept out"
    with other.transaction("write") as db:
        db.run("INSERT INTO t VALUES (1)")
    other.close()
    assert rows(connection) == [1]


def test_who_waits_for_the_lock_gets_it_when_it_is_free(connection: Connection, file: str) -> None:
    def write() -> None:
        waiting = Connection(file, create=False, busy_ms=30_000)
        entered.set()
        with waiting.transaction("write") as db:
            db.run("INSERT INTO t SELECT max(a) + 1 FROM t")
        waiting.close()

    entered = threading.Event()
    thread = threading.Thread(target=write)
    with connection.transaction("write") as db:
        thread.start()
        assert entered.wait(30)
        db.run("INSERT INTO t VALUES (1)")
    thread.join(30)
    assert rows(connection) == [1, 2]


def test_others_changes_are_noticed_and_our_own_are_not(connection: Connection, file: str) -> None:
    before = connection.data_version()
    connection.run("INSERT INTO t VALUES (1)")
    assert connection.data_version() == before
    other = Connection(file, create=False, busy_ms=1_000)
    other.run("INSERT INTO t VALUES (2)")
    other.close()
    assert connection.data_version() != before


def test_a_stumble_before_the_commit_leaves_the_connection_usable(connection: Connection, file: str) -> None:
    environment = {
        **os.environ,
        "QUEUECTL_ENABLE_FAILPOINTS": "1",
        "QUEUECTL_FAILPOINT": "stumble.before_commit=raise:ENOSPC",
    }
    result = subprocess.run(
        [sys.executable, "-c", STUMBLE, file],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert result.stdout == "No space left on device\n[(2,)]\n"


def test_a_backup_is_a_whole_database_under_its_name(connection: Connection, tmp_path: Path) -> None:
    connection.many("INSERT INTO t VALUES (?)", [(n,) for n in range(1_000)])
    (tmp_path / "backup.tmp").write_text("left by a process that died")
    back_up(connection.file, str(tmp_path / "backup"))
    copy = Connection(str(tmp_path / "backup"), create=False, busy_ms=0)
    assert rows(copy) == list(range(1_000))
    copy.close()
    assert not (tmp_path / "backup.tmp").exists()


def test_a_place_where_nothing_can_be_made_is_told_with_a_remedy(tmp_path: Path) -> None:
    for file in (tmp_path / "missing" / "c.db", tmp_path / "f" / "c.db"):
        (tmp_path / "f").write_text("a file")
        with pytest.raises(StoreError, match="cannot create") as caught:
            Connection(str(file), create=True, busy_ms=0)
        assert caught.value.hint
