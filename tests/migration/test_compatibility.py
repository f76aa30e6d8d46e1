"""A schema of tomorrow: a program of today goes on with it if that says so, and else leaves it alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.migration import places, servers
from tests.support.engines import ENGINES, Place, engines, fresh_store
from tests.support.jobs import add, claim, finish, register, report, some_worker, state_of
from tests.support.sql import ask

from queuectl import __version__
from queuectl.app import look_at, open_queue
from queuectl.core import states
from queuectl.doctor import workforce
from queuectl.errors import SchemaTooNew
from queuectl.store.compatibility import OLDEST
from queuectl.store.migrate import LATEST


@pytest.fixture(params=engines(long=["mysql"]))
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """A store of this version with a few jobs."""
    with fresh_store(request.param) as url:
        found = Place(str(tmp_path / "state"), url)
        store = found.open()
        add(store, "a", "b")
        store.close()
        yield found


def tell(place: Place, *statements: str) -> None:
    for statement in statements:
        if place.url is None:
            places.ask(Path(place.directory) / "queue.db", statement)
        else:
            ask(place.url, statement)


def become_newer(place: Place, oldest: int | None) -> None:
    """What a migration of tomorrow leaves behind; `oldest` None: it says nothing of older programs."""
    tell(
        place,
        "ALTER TABLE jobs ADD COLUMN colour TEXT",
        f"PRAGMA user_version = {LATEST + 1}"
        if place.url is None
        else f"UPDATE queuectl_schema SET version = {LATEST + 1}",
    )
    if oldest is not None:
        tell(place, f"INSERT INTO compatibility (version, oldest) VALUES ({LATEST + 1}, {oldest})")


def test_a_newer_schema_that_is_declared_compatible_is_worked_with(place: Place) -> None:
    become_newer(place, oldest=LATEST)
    store = place.open()
    try:
        add(store, "c")
        register(store, "w1")
        jobs = claim(store, worker_id="w1", limit=3)
        assert [job.id for job in jobs] == ["a", "b", "c"]
        assert finish(store, *(report(job) for job in jobs)) == []
        assert state_of(store, "a", "b", "c") == [states.COMPLETED] * 3
    finally:
        store.close()


@pytest.mark.parametrize("oldest", [None, LATEST + 1])
def test_one_that_is_not_is_refused(place: Place, oldest: int | None) -> None:
    become_newer(place, oldest)
    with pytest.raises(SchemaTooNew, match=f"schema {LATEST + 1}, this one knows {LATEST}"):
        place.open()


def test_a_declaration_for_another_version_counts_for_nothing(place: Place) -> None:
    become_newer(place, oldest=LATEST)
    tell(
        place,
        f"PRAGMA user_version = {LATEST + 2}"
        if place.url is None
        else f"UPDATE queuectl_schema SET version = {LATEST + 2}",
    )
    with pytest.raises(SchemaTooNew):
        place.open()


def test_the_doctor_notes_it_and_whole_tables_are_not_moved(place: Place) -> None:
    """Columns that a program does not know would be lost on the way."""
    become_newer(place, oldest=LATEST)
    doctor = look_at(place.location())
    try:
        found = [f for f in doctor.examine(now=lambda: 0) if "is newer than" in f.what]
    finally:
        doctor.close()
    assert [finding.level for finding in found] == ["note"]
    store = place.open()
    try:
        with pytest.raises(SchemaTooNew):
            store.transfer()
    finally:
        store.close()


def test_our_own_schema_declares_which_programs_may_go_on(place: Place) -> None:
    statement = f"SELECT oldest FROM compatibility WHERE version = {LATEST}"
    if place.url is None:
        rows = places.ask(Path(place.directory) / "queue.db", statement)
    else:
        rows = list(ask(place.url, statement))
    assert rows == [(OLDEST,)]


@pytest.mark.parametrize("engine", ENGINES)
def test_every_migration_since_the_fifth_declares_it(engine: str) -> None:
    for path in sorted((servers.SHIPPED / engine).glob("*.sql")):
        number = int(path.name[:4])
        if number >= 5:
            assert f"INTO compatibility (version, oldest) VALUES ({number}, " in path.read_text(), path.name


def test_workers_of_several_versions_are_told_of(tmp_path: Path) -> None:
    with open_queue(str(tmp_path / "q.db")) as queue:
        for name in ("w1", "w2"):
            queue.store.register(some_worker(name, version=__version__), 60_000)
        assert workforce.versions(queue.store.workers()) == []
        queue.store.register(some_worker("w3"), 60_000)  # of a program that did not tell
        (finding,) = workforce.versions(queue.store.workers())
        assert finding.what == f"1 worker of another version (older, this is {__version__})"
