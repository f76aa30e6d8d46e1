"""What the doctor sees whatever the engine: nothing is changed, workers, stuck and waiting jobs, settings."""

from __future__ import annotations

import shlex
import time

import pytest
from tests.doctor.place import Place, doctor, run
from tests.support.jobs import add, claim_one, get, register

from queuectl import system
from queuectl.store.api import Store

MINUTE = 60_000


def test_a_sound_store_has_no_problem(place: Place) -> None:
    place.make(jobs=2)

    report = doctor(place.url)

    assert (report.code, report.err) == (0, "")
    # The server that the tests found may have been set up by anybody.
    assert report.worse_than("ok", "note") in (
        ["warning: no worker is running, 2 jobs waiting"],
        ["warning: autovacuum = off", "warning: no worker is running, 2 jobs waiting"],
    )
    assert set(report.document) == {"store", "engine", "findings"}
    assert report.document["engine"] == place.engine
    for finding in report.findings:
        assert set(finding) == {"level", "check", "message", "why", "fix"}
        assert finding["level"] == "ok" or finding["why"]


def test_nothing_is_changed(place: Place) -> None:
    place.make(jobs=3)
    before = place.everything()

    run(place.url)
    doctor(place.url, "--full")

    assert place.everything() == before


def test_no_store_is_made(place: Place) -> None:
    before = place.everything()

    report = doctor(place.url)

    assert report.code == 3
    assert "queuectl init" in report.one("there is no")["fix"]
    assert place.everything() == before


def test_a_store_of_a_newer_version_is_left_alone(place: Place) -> None:
    place.make()
    newer = (
        "PRAGMA user_version = 99" if place.engine == "sqlite" else "UPDATE queuectl_schema SET version = 99"
    )
    place.ask(newer)
    before = place.everything()

    report = doctor(place.url)

    assert report.code == 3
    assert report.one("newer queuectl")["fix"] == "pip install --upgrade queuectl"
    assert place.everything() == before


def test_tables_of_another_program_are_left_alone(place: Place) -> None:
    place.home.mkdir()
    if place.engine == "postgres":
        place.ask(f"CREATE SCHEMA {place.url.rpartition('=')[2]}")
    place.ask("CREATE TABLE jobs (title text)")
    before = place.everything()

    report = doctor(place.url)

    assert report.code == 3
    assert report.level("holds tables of another program") == "problem"
    assert place.everything() == before


@pytest.mark.parametrize(
    ("index", "columns"),
    [
        ("jobs_due", "(state, run_at)"),
        ("jobs_claim", "run_at, seq)"),  # a later migration has made it anew
        ("jobs_schedule", "schedule)"),
        ("dependencies_child", "(child_seq)"),
    ],
)
def test_a_dropped_index_is_found_and_its_mend_helps(place: Place, index: str, columns: str) -> None:
    place.make()
    place.ask(f"DROP INDEX {index}" + (f" ON {index.partition('_')[0]}" if place.engine == "mysql" else ""))

    report = doctor(place.url)

    assert report.code == 1
    assert report.level(index) == "problem"
    mend = report.one(index)["fix"]
    assert columns in mend
    if place.engine == "sqlite":
        mend = shlex.split(mend)[-1]  # what the shell hands to sqlite3
    place.ask(mend.replace("CONCURRENTLY ", ""))  # which cannot run in a transaction
    assert doctor(place.url).about(index) == []


def test_an_index_with_other_columns_is_found(place: Place) -> None:
    place.make()
    where = " ON jobs" if place.engine == "mysql" else ""
    place.ask(f"DROP INDEX jobs_due{where}", "CREATE INDEX jobs_due ON jobs (run_at)")

    report = doctor(place.url)

    assert report.code == 1
    assert "is not as queuectl made it" in report.one("jobs_due")["message"]


def test_a_job_under_a_worker_that_does_not_exist_is_found_and_its_mend_frees_it(place: Place) -> None:
    place.make(jobs=2)
    with place.queue() as queue:
        register(queue.store)
        job = claim_one(queue.store, now=queue.clock.now())
        place.ask("DELETE FROM workers")

        report = doctor(place.url)

        assert report.code == 1
        assert (
            f"1 job processing under a worker that does not exist (like {job.id})"
            in report.one("like job")["message"]
        )
        place.ask(report.one("like job")["fix"])
        assert queue.get(job.id).state == "pending"
    assert doctor(place.url).level("every running job has its worker") == "ok"


def test_silent_workers_and_their_jobs_are_told(place: Place) -> None:
    place.make(jobs=1)
    with place.queue() as queue:
        # Of an earlier boot, and its lease is over: SQLite's workers are all of this machine.
        register(queue.store, "gone-1", lease_ms=0, host=system.hostname())
        claim_one(queue.store, worker_id="gone-1", now=queue.clock.now())
        place.ask("UPDATE workers SET lease_until = 0")

        report = doctor(place.url)

    finding = report.one("fell silent")
    assert finding["level"] == "warning"
    assert finding["message"] == "1 worker died or fell silent, holding 1 job: gone-1"
    assert finding["fix"] == "queuectl worker start"
    assert report.code == 0


@pytest.fixture
def worker_here() -> dict[str, object]:
    """What makes a row the one of a living worker: this very process plays it."""
    identity = system.identify()
    assert identity is not None
    return {"host": system.hostname(), "identity": identity.encode(), "pid": identity.pid}


def take(store: Store, count: int, worker_id: str = "w1") -> None:
    """That many jobs run from now on, whatever else waits."""
    for number in range(count):
        add(store, f"runs-{number}", queue="elsewhere")
        claim_one(store, worker_id=worker_id, only=get(store, f"runs-{number}").seq)


def test_living_workers_are_counted_by_host(place: Place, worker_here: dict[str, object]) -> None:
    place.make()
    with place.queue() as queue:
        register(queue.store, "here-1", **worker_here)
        register(queue.store, "here-2", running=1, **worker_here)  # as it said last: that is over by now
        take(queue.store, 1, "here-1")
        report = doctor(place.url)

    assert report.one("2 workers")["message"] == f"2 workers on 1 host ({system.hostname()}), 1 job running"
    assert report.about("no worker is running") == []


@pytest.mark.parametrize(
    ("worker", "running", "age", "level", "why"),
    [
        ({}, 2, 5 * MINUTE, "note", "busy"),
        ({}, 1, 5 * MINUTE, "warning", "has room"),
        ({"control": "drain"}, 1, 5 * MINUTE, "warning", "stopping"),
        ({"queues": "mail,images"}, 0, 0, "warning", "no living worker takes jobs of this queue"),
    ],
)
def test_jobs_that_wait_although_there_are_workers(
    sqlite_place: Place,
    worker_here: dict[str, object],
    worker: dict[str, object],
    running: int,
    age: int,
    level: str,
    why: str,
) -> None:
    sqlite_place.make(jobs=1)
    sqlite_place.ask(f"UPDATE jobs SET run_at = {time.time_ns() // 1_000_000 - age}")
    with sqlite_place.queue() as queue:
        register(queue.store, concurrency=2, **worker_here, **worker)
        take(queue.store, running)
        report = doctor(sqlite_place.url)

    assert report.level("queue default: 1 job waiting") == level
    assert why in report.one("queue default: 1 job waiting")["why"]


def test_jobs_that_have_just_come_are_no_reason_to_worry(
    sqlite_place: Place, worker_here: dict[str, object]
) -> None:
    sqlite_place.make(jobs=1)
    with sqlite_place.queue() as queue:
        register(queue.store, running=0, **worker_here)
        assert doctor(sqlite_place.url).level("1 job waiting, none for long") == "ok"


def test_settings_that_weaken_the_promises_are_told(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    with place.queue() as queue:
        queue.set_config("durability", "normal")
        queue.set_config("shutdown", "true")

    report = doctor(place.url)

    assert (report.code, report.level("durability = normal")) == (0, "warning")
    assert report.one("durability = normal")["fix"] == "queuectl config set durability full"
    assert report.level("shutdown = true") == "note"
    monkeypatch.setenv("QUEUECTL_DURABILITY", "normal")
    assert doctor(place.url).one("durability = normal")["fix"] == "unset QUEUECTL_DURABILITY"


def test_a_shell_that_cannot_be_run_is_a_problem(place: Place) -> None:
    with place.queue() as queue:
        queue.set_config("shell", "/nosuch/sh")

    report = doctor(place.url)

    assert (report.code, report.level("shell = /nosuch/sh, which cannot be run")) == (1, "problem")
    assert report.one("shell = /nosuch/sh")["fix"] == "queuectl config unset shell"


def test_settings_that_do_not_fit_together_are_a_problem(place: Place) -> None:
    place.make()
    place.ask("INSERT INTO config VALUES ('worker-lease', '1', 0)")

    report = doctor(place.url)

    assert report.code == 1
    assert report.level("worker-lease must be at least twice") == "problem"


def test_rows_that_make_no_sense_do_not_keep_the_rest_from_being_seen(place: Place) -> None:
    place.make()
    with place.queue() as queue:
        register(queue.store, identity="nonsense")

    report = doctor(place.url)

    assert report.level("workers: could not be looked at") == "warning"
    assert report.about("durability = full")


def test_counts_that_somebody_else_has_made_wrong_are_told_and_mended(place: Place) -> None:
    place.make(jobs=2)
    assert doctor(place.url).level("the counts are right: 2 jobs") == "ok"
    place.ask("UPDATE jobs SET state = 'dead', finished_at = 1 WHERE id = 'job1'")
    wrong = doctor(place.url).one("2 counts of jobs wrong (like queue default, dead: -1)")
    assert (wrong["level"], wrong["fix"]) == ("warning", "queuectl doctor --recount")
    mended = doctor(place.url, "--recount")
    assert mended.err == "2 counts mended\n"
    assert mended.level("the counts are right: 2 jobs") == "ok"
