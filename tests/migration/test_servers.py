"""Schemas on servers: the same as in the file, made once by many, whole after a kill, others' left alone."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.concurrency.roles import creator
from tests.migration.forking import forks_with
from tests.migration.places import first_job
from tests.migration.servers import ROOT, SHIPPED, connect, future, migrate, migrate_alone, migrator
from tests.migration.shapes import BYTEWISE, GENERATED, shape_of_file, shape_of_server
from tests.support.engines import SERVERS, Place, engines, fresh_store
from tests.support.jobs import add, claim, register
from tests.support.servers.urls import engine_of, split_schema
from tests.support.sql import ask, tables
from tests.support.together import run_together

from queuectl.errors import SchemaTooNew, StoreCorrupt, StoreError
from queuectl.store import migrate as sqlite_schema
from queuectl.store.server_schema import LATEST, schema_version

OURS = {
    *("jobs", "attempts", "workers", "config", "queuectl_schema"),
    *("dependencies", "unsettled", "queues", "job_groups", "schedules", "tallies", "history", "runtimes"),
    "compatibility",
}
NEW_COLUMN = "ALTER TABLE jobs ADD COLUMN colour VARCHAR(20);\nUPDATE jobs SET colour = 'red';\n"
NEW_TABLE = "CREATE TABLE shades (name VARCHAR(20));\n"


@pytest.fixture(params=engines(*SERVERS, long=["mysql"]))
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """Somewhere on a server where nothing is yet."""
    with fresh_store(request.param) as url:
        yield Place(str(tmp_path / "state"), url)


@pytest.fixture
def url(place: Place) -> str:
    assert place.url is not None
    return place.url


def versions(url: str) -> list[tuple[int]]:
    return list(ask(url, "SELECT version FROM queuectl_schema"))


def ids(url: str) -> list[str]:
    return [id for (id,) in ask(url, "SELECT id FROM jobs ORDER BY seq")]


def old_queue(place: Place, jobs: int = 20) -> list[str]:
    """A queue of this version with some jobs in it; their ids."""
    store = place.open()
    names = [f"j{number}" for number in range(jobs)]
    add(store, *names)
    store.close()
    return names


class TestShape:
    """One schema, three times: only what an engine cannot do is different."""

    @pytest.fixture(scope="class")
    @classmethod
    def file(cls, tmp_path_factory: pytest.TempPathFactory) -> Path:
        directory = tmp_path_factory.mktemp("file")
        Place(str(directory)).open().close()
        return directory / "queue.db"

    @pytest.fixture(scope="class", params=engines(*SERVERS, long=["mysql"]))
    @classmethod
    def url(cls, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
        with fresh_store(request.param) as url:
            assert url
            Place(str(tmp_path_factory.mktemp("state")), url).open().close()
            yield url

    def test_the_versions_are_numbered_alike(self) -> None:
        assert LATEST == sqlite_schema.LATEST

    def test_the_tables_are_the_same(self, url: str, file: Path) -> None:
        assert set(shape_of_server(url)) == {*shape_of_file(file), "queuectl_schema"}

    def test_the_columns_are_the_same(self, url: str, file: Path) -> None:
        server = shape_of_server(url)
        for name, table in shape_of_file(file).items():
            assert server[name].columns == table.columns, name

    def test_columns_are_made_by_the_server_only_where_it_lacks_an_index(self, url: str) -> None:
        generated = {name: table.generated for name, table in shape_of_server(url).items() if table.generated}
        assert generated == ({} if engine_of(url) == "postgres" else {"jobs": GENERATED})

    def test_a_default_is_nothing_but_a_zero(self, url: str, file: Path) -> None:
        assert not [table.defaults for table in shape_of_file(file).values() if table.defaults]
        assert {value for table in shape_of_server(url).values() for value in table.defaults.values()} == {
            "0"
        }

    def test_the_unique_keys_are_the_same(self, url: str, file: Path) -> None:
        server = shape_of_server(url)
        for name, table in shape_of_file(file).items():
            assert server[name].keys == table.keys, name

    def test_what_an_index_finds_in_the_file_one_finds_here(self, url: str, file: Path) -> None:
        server = shape_of_server(url)
        indexes = [(name, index) for name, table in shape_of_file(file).items() for index in table.indexes]
        assert len(indexes) >= 19
        # For looking and counting only: MySQL goes over the blocked jobs of all queues.
        wide = {"state = 'blocked'": ("needs", "queue")} if engine_of(url) == "mysql" else {}
        for name, index in indexes:
            wanted = replace(index, columns=wide.get(index.only, index.columns))
            assert any(ours.serves(wanted) for ours in server[name].indexes), (name, index)

    def test_text_that_is_searched_is_compared_by_its_bytes(self, url: str) -> None:
        for table in shape_of_server(url).values():
            searched = {column for index in table.indexes for column in index.columns}
            compared = {
                table.collations[c.name] for c in table.columns if c.name in searched and c.kind == "text"
            }
            assert compared <= BYTEWISE


@pytest.mark.server
@pytest.mark.long
def test_both_servers_have_the_same_room_for_numbers(tmp_path: Path) -> None:
    widths = []
    for engine in SERVERS:
        with fresh_store(engine) as url:
            assert url
            Place(str(tmp_path / engine), url).open().close()
            widths.append({name: table.widths for name, table in shape_of_server(url).items()})
    assert widths[0] == widths[1]


class TestMaking:
    def test_many_at_once_make_one(self, place: Place, url: str) -> None:
        names = run_together([(creator, (place, f"p{number}")) for number in range(8)])
        assert tables(url) == OURS
        assert versions(url) == [(LATEST,)]
        assert sorted(ids(url)) == sorted(names)

    def test_opening_again_changes_nothing(self, place: Place, url: str) -> None:
        names = old_queue(place)
        shape = shape_of_server(url)
        for create in (True, False):
            place.open(create=create).close()
        assert (shape_of_server(url), versions(url), ids(url)) == (shape, [(LATEST,)], names)

    def test_who_only_looks_makes_nothing(self, place: Place, url: str, tmp_path: Path) -> None:
        with pytest.raises(StoreError, match="there is no queue at") as caught:
            place.open(create=False)
        assert caught.value.hint == "queuectl init makes one"
        assert tables(url) == set()
        if engine_of(url) == "postgres":
            assert ask(url, f"SELECT to_regnamespace('{split_schema(url)[1]}')") == [(None,)]
        assert not (tmp_path / "state").exists()


FORKED = forks_with(
    """
from tests.support.engines import Place
store = Place(sys.argv[1], sys.argv[2]).open()
""",
    last="workers",
)


def test_a_connection_refuses_to_work_after_a_fork(place: Place, url: str) -> None:
    command = [sys.executable, "-c", FORKED, place.directory, url]
    result = subprocess.run(command, cwd=ROOT, timeout=60, check=False)
    assert result.returncode == 4, "all four uses were refused, and the parent goes on"


class TestRefused:
    @pytest.mark.parametrize("create", [True, False])
    def test_a_newer_schema_is_left_alone(self, place: Place, url: str, tmp_path: Path, create: bool) -> None:
        names = old_queue(place)
        (tmp_path / "state").rmdir()
        ask(url, f"UPDATE queuectl_schema SET version = {LATEST + 1}")
        shape = shape_of_server(url)
        with pytest.raises(SchemaTooNew, match=rf"schema {LATEST + 1}, this one knows {LATEST}") as caught:
            place.open(create=create)
        assert caught.value.hint == "pip install --upgrade queuectl"
        assert (shape_of_server(url), versions(url), ids(url)) == (shape, [(LATEST + 1,)], names)
        assert not (tmp_path / "state").exists()

    @pytest.mark.parametrize("table", ["jobs", "attempts", "workers", "config"])
    def test_the_tables_of_another_program_are_left_alone(
        self, place: Place, url: str, tmp_path: Path, table: str
    ) -> None:
        if engine_of(url) == "postgres":
            ask(url, f"CREATE SCHEMA {split_schema(url)[1]}")
        ask(url, f"CREATE TABLE {table} (title VARCHAR(20))")
        ask(url, f"INSERT INTO {table} VALUES ('plumber')")
        with pytest.raises(StoreCorrupt, match="another program") as caught:
            place.open()
        assert "a place of its own" in str(caught.value.hint)
        with pytest.raises(StoreError):
            place.open(create=False)
        assert tables(url) == {table}
        assert ask(url, f"SELECT * FROM {table}") == [("plumber",)]
        assert not (tmp_path / "state").exists()


ON_SERVER = pytest.mark.server
IN_LONG = [pytest.mark.server, pytest.mark.long]
# PostgreSQL takes all steps in one transaction; MySQL commits each by itself, and may be cut off after any.
POINTS = ["migrate.applied", "migrate.before_commit", "migrate.committed"]
STEPS = ["migrate.step", "migrate.step@2", "migrate.step@3", "migrate.step@4"]
KILLED = [
    *(pytest.param("postgres", point, marks=ON_SERVER) for point in POINTS),
    *(
        pytest.param("mysql", point, marks=ON_SERVER if point == "migrate.step@3" else IN_LONG)
        for point in POINTS + STEPS
    ),
]


class TestKilled:
    @pytest.fixture
    def place(self, request: pytest.FixtureRequest, tmp_path: Path, engine: str) -> Iterator[Place]:
        with fresh_store(engine) as url:
            yield Place(str(tmp_path / "state"), url)

    @pytest.mark.parametrize(("engine", "failpoint"), KILLED)
    def test_while_it_is_made_the_next_one_completes_it(
        self, place: Place, url: str, tmp_path: Path, engine: str, failpoint: str
    ) -> None:
        """Until it is as one that nobody has disturbed."""
        directory = future(tmp_path / "m", engine)
        assert migrate_alone(url, LATEST, directory, failpoint) == -signal.SIGKILL
        if failpoint != "migrate.committed":
            with pytest.raises(StoreError, match="there is no queue"):
                place.open(create=False)
        names = old_queue(place)
        assert tables(url) == OURS
        assert (versions(url), ids(url)) == ([(LATEST,)], names)
        with fresh_store(engine) as other:
            assert other
            Place(str(tmp_path / "other"), other).open().close()
            assert shape_of_server(url) == shape_of_server(other)

    @pytest.mark.parametrize(
        ("engine", "failpoint", "left"),
        [
            pytest.param("postgres", "migrate.applied", LATEST, marks=IN_LONG),
            pytest.param("postgres", "migrate.applied@2", LATEST, marks=ON_SERVER),
            pytest.param("postgres", "migrate.before_commit", LATEST, marks=IN_LONG),
            pytest.param("postgres", "migrate.committed", LATEST + 2, marks=ON_SERVER),
            pytest.param("mysql", "migrate.step", LATEST, marks=IN_LONG),
            pytest.param("mysql", "migrate.step@2", LATEST, marks=ON_SERVER),
            pytest.param("mysql", "migrate.applied", LATEST, marks=IN_LONG),
            pytest.param("mysql", "migrate.before_commit", LATEST, marks=IN_LONG),
            pytest.param("mysql", "migrate.committed", LATEST + 1, marks=IN_LONG),
            pytest.param("mysql", "migrate.step@3", LATEST + 1, marks=IN_LONG),
            pytest.param("mysql", "migrate.before_commit@2", LATEST + 1, marks=IN_LONG),
            pytest.param("mysql", "migrate.committed@2", LATEST + 2, marks=IN_LONG),
        ],
    )
    def test_on_the_way_forward_it_keeps_every_job_and_can_be_done_again(
        self, place: Place, url: str, tmp_path: Path, engine: str, failpoint: str, left: int
    ) -> None:
        names = old_queue(place)
        directory = future(tmp_path / "m", engine, NEW_COLUMN, NEW_TABLE)
        assert migrate_alone(url, LATEST + 2, directory, failpoint) == -signal.SIGKILL
        assert (versions(url), ids(url)) == ([(left,)], names)
        migrate(url, LATEST + 2, directory)
        assert (versions(url), ids(url)) == ([(LATEST + 2,)], names)
        assert ask(url, "SELECT DISTINCT colour FROM jobs") == [("red",)]
        assert tables(url) == {*OURS, "shades"}


class TestForward:
    def test_an_older_schema_is_brought_forward_step_by_step(
        self, place: Place, url: str, tmp_path: Path
    ) -> None:
        names = old_queue(place)
        directory = future(tmp_path / "m", engine_of(url), NEW_COLUMN, NEW_TABLE)
        migrate(url, LATEST + 1, directory)
        assert versions(url) == [(LATEST + 1,)]
        assert "shades" not in tables(url)
        migrate(url, LATEST + 2, directory)
        migrate(url, LATEST + 2, directory)
        assert (versions(url), ids(url)) == ([(LATEST + 2,)], names)
        assert ask(url, "SELECT DISTINCT colour FROM jobs") == [("red",)]
        with pytest.raises(SchemaTooNew):
            place.open()

    def test_many_at_once_do_it_once(self, place: Place, url: str, tmp_path: Path) -> None:
        names = old_queue(place)
        counted = NEW_TABLE + "INSERT INTO shades VALUES ('dark');\n"
        directory = future(tmp_path / "m", engine_of(url), NEW_COLUMN, counted)
        run_together([(migrator, (url, LATEST + 2, directory)) for _ in range(6)])
        assert (versions(url), ids(url)) == ([(LATEST + 2,)], names)
        assert ask(url, "SELECT name FROM shades") == [("dark",)]

    def test_one_that_fails_says_so_and_leaves_the_version(
        self, place: Place, url: str, tmp_path: Path
    ) -> None:
        names = old_queue(place)
        directory = future(tmp_path / "m", engine_of(url), NEW_COLUMN + "INSERT INTO nowhere VALUES (1);\n")
        with pytest.raises(StoreError, match="nowhere"):
            migrate(url, LATEST + 1, directory)
        assert (versions(url), ids(url)) == ([(LATEST,)], names)
        store = place.open()
        assert store.get("j7") is not None
        store.close()
        connection = connect(url)
        assert schema_version(connection) == LATEST
        connection.close()


# The statements of the second script; MySQL may be cut off behind each.
STEPS_OF_TWO = len((SHIPPED / "mysql" / "0002_when_and_how.sql").read_text().strip().split(";\n"))


@pytest.mark.long
class TestFromTheFirst:
    """A queue that the first version has made and filled."""

    @pytest.fixture
    def names(self, place: Place, url: str, tmp_path: Path) -> list[str]:
        migrate(url, 1, str(SHIPPED / engine_of(url)))
        names = [f"j{number}" for number in range(20)]
        for name in names:
            ask(url, first_job(name))
        return names

    def test_it_comes_forward_with_its_jobs_and_is_as_a_new_one(
        self, place: Place, url: str, tmp_path: Path, names: list[str]
    ) -> None:
        assert "queues" not in tables(url)
        store = place.open(create=False)
        assert (versions(url), ids(url), tables(url)) == ([(LATEST,)], names, OURS)
        job = store.get("j7")
        assert job is not None
        assert (job.command, job.state, job.tags, job.rules, job.waits) == (
            "echo j7",
            "pending",
            None,
            None,
            None,
        )
        register(store)
        assert [job.id for job in claim(store, 20)] == names
        store.close()
        with fresh_store(engine_of(url)) as other:
            assert other
            Place(str(tmp_path / "other"), other).open().close()
            assert shape_of_server(url) == shape_of_server(other)

    def test_many_at_once_bring_it_forward(self, place: Place, url: str, names: list[str]) -> None:
        new = run_together([(creator, (place, f"p{number}")) for number in range(6)])
        assert (versions(url), tables(url)) == ([(LATEST,)], OURS)
        assert sorted(ids(url)) == sorted([*names, *new])

    def test_killed_anywhere_it_is_completed_by_the_next_one(
        self, place: Place, url: str, tmp_path: Path, names: list[str]
    ) -> None:
        mysql = engine_of(url) == "mysql"
        points = ["migrate.applied", "migrate.before_commit"]
        points += [f"migrate.step@{number}" for number in range(1, STEPS_OF_TWO + 1)] if mysql else []
        for point in points:
            assert migrate_alone(url, 2, str(SHIPPED / engine_of(url)), point) == -signal.SIGKILL, point
            assert (versions(url), ids(url)) == ([(1,)], names)
        store = place.open(create=False)
        assert store.get("j7") is not None
        store.close()
        with fresh_store(engine_of(url)) as other:
            assert other
            Place(str(tmp_path / "other"), other).open().close()
            assert shape_of_server(url) == shape_of_server(other)
