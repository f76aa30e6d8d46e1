"""MySQL and MariaDB: weak variables, the binary log, replicas, rights, tables and their characters."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.doctor.place import Place, connect, doctor
from tests.support.servers import PrivateMariadb
from tests.support.servers.urls import split_database

from queuectl.app import look_at
from queuectl.paths import locate
from queuectl.store import health_mysql

UNSAFE_MARIADB = {
    "innodb-flush-log-at-trx-commit": 2,
    "innodb-doublewrite": "OFF",
    "log-bin": "binlog",
    "server-id": 1,
    "sync-binlog": 0,
    "sql-mode": "",
    "max-allowed-packet": "1M",
    "character-set-server": "latin1",
    "max-connections": 12,
}


@pytest.fixture(scope="module")
def unsafe_mariadb() -> Iterator[PrivateMariadb]:
    """Its clock on the wall is not UTC: what it says of the beginning of a transaction is in local time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "America/New_York")
        with PrivateMariadb(settings=UNSAFE_MARIADB) as server:
            yield server


@pytest.fixture
def unsafe_mysql_place(unsafe_mariadb: PrivateMariadb, home_dir: Path) -> Place:
    place = Place("mysql", unsafe_mariadb.fresh_url(), home_dir)
    place.make()
    return place


@pytest.mark.long
@pytest.mark.parametrize(
    ("what", "level"),
    [
        ("innodb_flush_log_at_trx_commit = 2", "problem"),
        ("innodb_doublewrite = OFF", "problem"),
        ("sync_binlog = 0", "problem"),
        ("sql_mode is not strict on the server", "note"),
        ("max_allowed_packet = 1.0 MiB", "warning"),
        ("the server's default: REPEATABLE-READ", "ok"),
    ],
)
def test_a_weak_variable_is_found(unsafe_mysql_place: Place, what: str, level: str) -> None:
    report = doctor(unsafe_mysql_place.url)

    assert (report.code, report.level(what)) == (1, level)


@pytest.mark.long
def test_weak_variables_are_the_only_problems(unsafe_mysql_place: Place) -> None:
    """The tables are as they should be although the server's character set is latin1."""
    report = doctor(unsafe_mysql_place.url)

    assert {finding["message"] for finding in report.findings if finding["level"] == "problem"} == {
        "innodb_flush_log_at_trx_commit = 2",
        "innodb_doublewrite = OFF",
        "sync_binlog = 0",
    }


@pytest.mark.long
@pytest.mark.parametrize(
    ("statement", "undo", "what"),
    [
        (
            "SET GLOBAL binlog_format = STATEMENT",
            "SET GLOBAL binlog_format = MIXED",
            "binlog_format = STATEMENT",
        ),
        ("SET GLOBAL read_only = ON", "SET GLOBAL read_only = OFF", "read_only = ON"),
    ],
)
def test_what_stops_all_writes_is_a_problem(
    unsafe_mysql_place: Place, statement: str, undo: str, what: str
) -> None:
    unsafe_mysql_place.ask(statement)
    try:
        report = doctor(unsafe_mysql_place.url)
    finally:
        unsafe_mysql_place.ask(undo)

    assert (report.code, report.level(what)) == (1, "problem")
    assert doctor(unsafe_mysql_place.url).about(what) == []


def test_without_a_binary_log_its_settings_do_not_matter(mysql_place: Place) -> None:
    mysql_place.make()
    (variable,) = mysql_place.ask("SELECT @@GLOBAL.log_bin")
    report = doctor(mysql_place.url)
    assert bool(report.about("the binary log is off")) == (variable[0] == 0)
    if variable[0] == 0:
        assert report.about("sync_binlog") == []


@pytest.mark.long
def test_a_replica_is_told(unsafe_mysql_place: Place) -> None:
    unsafe_mysql_place.ask("CHANGE MASTER TO MASTER_HOST = 'source.invalid'")
    try:
        assert doctor(unsafe_mysql_place.url).level("this server is a replica") == "warning"
    finally:
        unsafe_mysql_place.ask("RESET SLAVE ALL")
    assert doctor(unsafe_mysql_place.url).about("this server is a replica") == []


@pytest.mark.long
def test_nearly_all_connections_used_is_a_warning(unsafe_mysql_place: Place) -> None:
    with ExitStack() as others:
        for _ in range(9):
            others.callback(connect(unsafe_mysql_place.url).close)
        assert doctor(unsafe_mysql_place.url).level("of 12 connections in use") == "warning"


# --- what holds up purge --------------------------------------------------------------------------------


def ages(place: Place, longer_than: int) -> list[tuple[str, str | None]]:
    store: Any = look_at(locate(place.url))
    try:
        found = health_mysql.long_transactions(store.connection, longer_than=longer_than)
    finally:
        store.close()
    return [(finding.what, finding.mend) for finding in found if finding.level == "warning"]


@pytest.mark.long
def test_a_long_transaction_is_told_by_the_servers_own_time(unsafe_mysql_place: Place) -> None:
    unsafe_mysql_place.make(jobs=1)
    with unsafe_mysql_place.connection() as other, other.cursor() as cursor:
        cursor.execute("SELECT CONNECTION_ID()")
        thread = cursor.fetchone()[0]
        cursor.execute("SELECT id FROM jobs FOR UPDATE")

        ((what, mend),) = ages(unsafe_mysql_place, longer_than=-1000)

        assert what.startswith(f"session {thread} has had a transaction open for ")
        assert mend == f"KILL {thread}"
        # New York is hours behind: taken for UTC, it would have begun long ago.
        assert ages(unsafe_mysql_place, longer_than=60_000) == []


@pytest.mark.long
def test_a_user_who_may_not_see_everything_is_told_what_is_hidden(unsafe_mysql_place: Place) -> None:
    database = split_database(unsafe_mysql_place.url)[1]
    unsafe_mysql_place.ask("CREATE USER plain", f"GRANT ALL ON {database}.* TO plain")
    try:
        report = doctor(unsafe_mysql_place.url.replace("root@", "plain@"))
    finally:
        unsafe_mysql_place.ask("DROP USER plain")

    assert report.level("long transactions: could not be looked at") == "note"
    assert "PROCESS" in report.one("long transactions: could not be looked at")["why"]
    assert report.level("replication: could not be looked at") == "note"
    assert report.level("indexes are there") == "ok"


# --- tables ---------------------------------------------------------------------------------------------


def test_a_table_that_is_not_as_it_should_be_is_found_and_its_mend_helps(mysql_place: Place) -> None:
    harms = {
        "ALTER TABLE config ENGINE = MyISAM": "table config is kept by MyISAM",
        "ALTER TABLE workers CONVERT TO CHARACTER SET latin1": "columns of workers are not utf8mb4_bin",
        "ALTER TABLE jobs MODIFY id VARCHAR(128) COLLATE utf8mb4_general_ci NOT NULL": (
            "id (utf8mb4_general_ci)"
        ),
        "ALTER TABLE attempts DROP PRIMARY KEY": "index PRIMARY of attempts is missing",
        "ALTER TABLE jobs DROP KEY jobs_id": "index jobs_id of jobs is missing",
    }
    mysql_place.make()
    mysql_place.ask(*harms)

    report = doctor(mysql_place.url)

    assert report.code == 1
    assert {what: report.level(what) for what in harms.values()} == dict.fromkeys(harms.values(), "problem")
    mysql_place.ask(*(report.one(what)["fix"] for what in harms.values()))
    mended = doctor(mysql_place.url)
    assert [what for what in harms.values() if mended.about(what)] == []
