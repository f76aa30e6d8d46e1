"""PostgreSQL: weak settings, standbys, rights, what holds up vacuum, tables and indexes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg
import pytest
from tests.doctor.place import Place, connect, doctor
from tests.support.servers import PrivatePostgres
from tests.support.servers.urls import split_schema

from queuectl.app import look_at
from queuectl.errors import StoreError
from queuectl.paths import locate
from queuectl.store import health_postgres
from queuectl.store.open import open_to_look
from queuectl.store.server_schema import LATEST
from queuectl.testing import wait_until

UNSAFE_POSTGRES = {
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "autovacuum": "off",
    "default_transaction_isolation": "serializable",
    "max_connections": 12,  # of which three are kept for superusers
    "max_prepared_transactions": 2,
}


@pytest.fixture(scope="module")
def unsafe_postgres() -> Iterator[PrivatePostgres]:
    with PrivatePostgres(settings=UNSAFE_POSTGRES) as server:
        yield server


@pytest.fixture
def unsafe_postgres_place(unsafe_postgres: PrivatePostgres, home_dir: Path) -> Place:
    place = Place("postgres", unsafe_postgres.fresh_url(), home_dir)
    place.make()
    return place


@pytest.mark.long
@pytest.mark.parametrize(
    ("what", "level", "mend"),
    [
        ("fsync = off", "problem", "fsync = on"),
        ("full_page_writes = off", "problem", "full_page_writes = on"),
        ("synchronous_commit = off on the server", "note", "synchronous_commit = on"),
        ("autovacuum = off", "warning", "autovacuum = on"),
        ("the server's default: serializable", "ok", None),
    ],
)
def test_a_weak_setting_is_found(
    unsafe_postgres_place: Place, what: str, level: str, mend: str | None
) -> None:
    finding = doctor(unsafe_postgres_place.url).one(what)

    assert finding["level"] == level
    assert mend is None or mend in finding["fix"]


@pytest.mark.long
def test_weak_settings_are_a_problem(unsafe_postgres_place: Place) -> None:
    report = doctor(unsafe_postgres_place.url)

    assert report.code == 1
    assert {finding["message"] for finding in report.findings if finding["level"] == "problem"} == {
        "fsync = off",
        "full_page_writes = off",
    }


def test_the_doctor_agrees_with_a_server_about_its_settings(postgres_place: Place) -> None:
    postgres_place.make()
    report = doctor(postgres_place.url)

    for name in ("fsync", "full_page_writes", "autovacuum"):
        value = postgres_place.ask(f"SHOW {name}")[0][0]
        assert bool(report.about(f"{name} = off")) == (value == "off")


@pytest.mark.long
def test_nearly_all_connections_used_is_a_warning(unsafe_postgres_place: Place) -> None:
    assert doctor(unsafe_postgres_place.url).level("of 9 connections in use") == "ok"
    with ExitStack() as others:
        for _ in range(7):
            others.enter_context(connect(unsafe_postgres_place.url))
        report = doctor(unsafe_postgres_place.url)
    assert report.level("of 9 connections in use") == "warning"


# --- who takes no writes --------------------------------------------------------------------------------


@pytest.mark.long
def test_a_read_only_database_is_a_problem(unsafe_postgres_place: Place) -> None:
    on = "ALTER DATABASE postgres SET default_transaction_read_only = on"
    unsafe_postgres_place.ask(on)
    try:
        report = doctor(unsafe_postgres_place.url)
    finally:
        unsafe_postgres_place.ask(
            "SET TRANSACTION READ WRITE", on.replace("SET", "RESET").replace(" = on", "")
        )

    assert report.code == 1
    assert report.level("default_transaction_read_only = on") == "problem"


@pytest.mark.long
def test_a_standby_is_a_problem_and_can_be_looked_at() -> None:
    with PrivatePostgres() as server:
        place = Place("postgres", server.fresh_url(), server.directory)
        place.make()
        (server.data / "standby.signal").touch()
        server.restart()

        report = doctor(place.url)

    assert report.code == 1
    assert report.level("this server is a standby") == "problem"
    assert report.level(f"schema version {LATEST}") == "ok"


# --- rights ---------------------------------------------------------------------------------------------


@pytest.fixture
def plain_user(unsafe_postgres_place: Place) -> Iterator[str]:
    """The same place, as a user who may do nothing but come in."""
    unsafe_postgres_place.ask("CREATE ROLE plain LOGIN")
    yield unsafe_postgres_place.url.replace("postgres@", "plain@")
    unsafe_postgres_place.ask("DROP OWNED BY plain", "DROP ROLE plain")


@pytest.mark.long
def test_a_user_without_rights_cannot_use_the_store(plain_user: str) -> None:
    report = doctor(plain_user)

    assert report.code == 3
    assert "GRANT USAGE ON SCHEMA" in report.one("this user may not use schema")["fix"]


@pytest.mark.long
def test_to_a_user_without_rights_the_queue_is_not_empty(plain_user: str) -> None:
    with pytest.raises(StoreError, match="this user may not use schema") as caught:
        open_to_look(locate(plain_user))
    assert "GRANT USAGE ON SCHEMA" in str(caught.value.hint)


@pytest.mark.long
def test_a_user_who_may_enter_but_not_read_cannot_use_the_store(
    unsafe_postgres_place: Place, plain_user: str
) -> None:
    unsafe_postgres_place.ask(f"GRANT USAGE ON SCHEMA {split_schema(unsafe_postgres_place.url)[1]} TO plain")

    report = doctor(plain_user)

    assert report.code == 3
    assert report.level("permission denied for table queuectl_schema") == "problem"


@pytest.mark.long
def test_a_user_who_may_only_read_is_told_so(unsafe_postgres_place: Place, plain_user: str) -> None:
    schema = split_schema(unsafe_postgres_place.url)[1]
    unsafe_postgres_place.ask(
        f"GRANT USAGE ON SCHEMA {schema} TO plain", f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO plain"
    )
    with connect(unsafe_postgres_place.url):  # a session of somebody else, which a plain user cannot see into
        report = doctor(plain_user)

    assert report.code == 1
    assert "GRANT SELECT, INSERT, UPDATE, DELETE" in report.one("may not write to table jobs")["fix"]
    assert "pg_monitor" in report.one("may not look at")["fix"]


# --- what holds up vacuum -------------------------------------------------------------------------------


def long_transactions(place: Place, longer_than: int) -> list[Any]:
    store: Any = look_at(locate(place.url))
    try:
        found = health_postgres.long_transactions(store.connection, longer_than=longer_than)
    finally:
        store.close()
    return [finding for finding in found if finding.level == "warning"]


@pytest.mark.long
def test_a_long_transaction_is_told_with_who_has_it(unsafe_postgres_place: Place) -> None:
    with connect(unsafe_postgres_place.url) as other:
        pid = other.execute("SELECT pg_backend_pid()").fetchone()[0]
        (finding,) = long_transactions(unsafe_postgres_place, longer_than=-1)
        assert f"session {pid} (postgres" in finding.what
        assert finding.mend == f"SELECT pg_terminate_backend({pid})"
        assert doctor(unsafe_postgres_place.url).level("no transaction has been open for long") == "ok"


@pytest.mark.long
def test_a_prepared_transaction_that_nobody_ends_is_told(unsafe_postgres_place: Place) -> None:
    server = split_schema(unsafe_postgres_place.url)[0]
    with psycopg.connect(server, autocommit=True) as other:
        other.execute("BEGIN")
        other.execute("SELECT pg_current_xact_id()")
        other.execute("PREPARE TRANSACTION 'left behind'")
        (finding,) = long_transactions(unsafe_postgres_place, longer_than=-1)
        assert "the prepared transaction left behind" in finding.what
        other.execute(finding.mend)
    assert long_transactions(unsafe_postgres_place, longer_than=-1) == []


@pytest.mark.long
def test_dead_tuples_are_told_when_there_are_many(unsafe_postgres_place: Place) -> None:
    unsafe_postgres_place.make(jobs=1)
    assert doctor(unsafe_postgres_place.url).level("jobs: 1 row, 0 dead, never vacuumed") == "ok"
    copy = "INSERT INTO config SELECT 'k' || n, 'v', 0 FROM generate_series(1, 1) AS n"
    many = (
        "INSERT INTO jobs (id, command, queue, state, priority, max_retries, run_at, created_at, updated_at) "
        "SELECT 'n' || n, 'true', 'q', 'completed', 0, 0, 0, 0, 0 FROM generate_series(1, 6000) AS n"
    )
    unsafe_postgres_place.ask(copy, many, "UPDATE jobs SET priority = 1", "UPDATE jobs SET priority = 2")

    finding = wait_until(
        lambda: [f for f in doctor(unsafe_postgres_place.url).about("jobs: ") if f["level"] == "warning"],
        what="the server to have counted",
    )[0]

    assert "dead, never vacuumed" in finding["message"]
    with psycopg.connect(split_schema(unsafe_postgres_place.url)[0], autocommit=True) as other:
        other.execute(finding["fix"].partition(";")[0])
    report = doctor(unsafe_postgres_place.url)
    finding = report.one("jobs: 6,001 rows")
    assert (finding["level"], "never vacuumed" in finding["message"]) == ("ok", False)


def test_autovacuum_that_is_off_for_one_table(postgres_place: Place) -> None:
    postgres_place.make()
    postgres_place.ask("ALTER TABLE attempts SET (autovacuum_enabled = off)")
    assert doctor(postgres_place.url).level("autovacuum is off for table attempts") == "warning"


# --- tables and indexes ---------------------------------------------------------------------------------


@pytest.mark.long
def test_an_index_that_is_not_valid_is_found(unsafe_postgres_place: Place) -> None:
    unsafe_postgres_place.ask(
        "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'jobs_running'::regclass"
    )

    finding = doctor(unsafe_postgres_place.url).one("jobs_running")

    assert (finding["level"], finding["fix"][:29]) == ("problem", 'REINDEX INDEX CONCURRENTLY "t')
    assert "not valid" in finding["message"]


def test_a_dropped_key_is_found(postgres_place: Place) -> None:
    postgres_place.make()
    postgres_place.ask("ALTER TABLE jobs DROP CONSTRAINT jobs_id_key, DROP CONSTRAINT jobs_pkey")

    report = doctor(postgres_place.url)

    assert report.code == 1
    assert report.one("jobs_pkey")["fix"].endswith("ADD PRIMARY KEY (seq)")
    assert report.one("jobs_id_key")["fix"].startswith("CREATE UNIQUE INDEX")


def test_an_unlogged_table_is_a_problem(postgres_place: Place) -> None:
    postgres_place.make()
    postgres_place.ask("ALTER TABLE attempts SET UNLOGGED")

    finding = doctor(postgres_place.url).one("table attempts is unlogged")

    assert finding["level"] == "problem"
    postgres_place.ask(finding["fix"])
    assert doctor(postgres_place.url).about("is unlogged") == []


def test_missing_tables_make_the_store_useless(postgres_place: Place) -> None:
    postgres_place.make()
    postgres_place.ask("DROP TABLE config, workers")

    report = doctor(postgres_place.url)

    assert report.code == 3
    assert report.level("tables are missing: config, workers") == "problem"
