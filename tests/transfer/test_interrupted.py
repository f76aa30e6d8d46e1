"""A copy that was killed goes on where it stopped, and notices what has changed meanwhile."""

from __future__ import annotations

import pytest
from tests.support.cli import Cli
from tests.support.engines import SERVERS, engines
from tests.support.fake_worker import FakeWorker
from tests.support.jobs import NOW
from tests.transfer.places import (
    Places,
    ask,
    change,
    everything,
    insert,
    killed_at,
    opened,
    rows,
)
from tests.transfer.rows import attempt, fill, job

from queuectl.app import copy_queue
from queuectl.errors import QueuectlError, Refused, StoreError
from queuectl.queue import Queue


def interrupted(here: str, there: str, *, after: int) -> None:
    """A copy that is given up when at least so many rows are stored. What is left is what a kill leaves."""

    def give_up(phase: str, done: int, total: int) -> None:
        if phase == "copied" and done >= after:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        copy_queue(here, there, progress=give_up)


# 300 jobs are three chunks, 150 attempts two, the setting one.
POINTS = (
    "copy.chunk@1",
    "copy.chunk@3",
    "copy.chunk@4",
    "copy.chunk@6",
    "copy.before_commit@2",
    "copy.committed@5",
    "config.committed@1",
    "config.before_commit@2",
)


# On SQLite each of them; on a server the two that are about its own transactions.
ON_A_SERVER = ("copy.before_commit@2", "copy.committed@5")
KILLED = [
    *(pytest.param("sqlite", point) for point in POINTS),
    *(pytest.param("postgres", point, marks=pytest.mark.server) for point in ON_A_SERVER),
    *(
        pytest.param(engine, point, marks=[pytest.mark.server, pytest.mark.long])
        for engine in SERVERS
        for point in POINTS
        if engine == "mysql" or point not in ON_A_SERVER
    ),
]


@pytest.mark.parametrize(("engine", "point"), KILLED)
def test_killed_anywhere_and_run_again(engine: str, point: str, place: Places, cli: Cli) -> None:
    here, there = place("sqlite"), place(engine)
    fill(here)
    killed_at(point, "--db", here, "copy", "--to", there)

    done = cli.ok("--db", here, "copy", "--to", there)

    assert done.out == "✓ 300 jobs, 150 attempts, 1 setting copied and verified\n"
    assert everything(there) == everything(here)
    with Queue.open(there) as queue:
        assert queue.enqueue("true").seq > 300


@pytest.mark.parametrize("engine", engines(*SERVERS, long=["mysql"]))
def test_killed_on_the_way_from_a_server(engine: str, place: Places, cli: Cli) -> None:
    here, there = place(engine), place("sqlite")
    fill(here)
    killed_at("copy.chunk@2", "--db", here, "copy", "--to", there)
    assert cli.ok("--db", here, "copy", "--to", there, "--json").json()["resumed"] is True
    assert everything(there) == everything(here)


@pytest.mark.parametrize("engine", engines(long=["mysql"]))
def test_half_a_copy_is_no_queue(engine: str, place: Places, cli: Cli) -> None:
    here, there = place("sqlite"), place(engine)
    fill(here)
    interrupted(here, there, after=1)
    before = rows(there)
    for words in (["list"], ["enqueue", "true"], ["worker", "start"], ["config", "reset"], ["export"]):
        assert "is an unfinished copy of" in cli("--db", there, *words, code=4).err
    assert cli("--db", there, "copy", "--to", place("sqlite"), code=4).err.count("unfinished") == 1
    assert rows(there) == before


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE jobs SET state = 'cancelled' WHERE seq = 1",
        "DELETE FROM jobs WHERE seq = 2",
        "UPDATE jobs SET priority = 1 WHERE seq = 100",
    ],
)
@pytest.mark.parametrize("engine", engines(long=["mysql"]))
def test_a_source_that_changed_meanwhile_is_noticed(engine: str, sql: str, place: Places, cli: Cli) -> None:
    here, there = place("sqlite"), place(engine)
    fill(here)
    interrupted(here, there, after=150)
    change(here, sql)
    left = rows(there)

    said = cli("--db", here, "copy", "--to", there, code=4)

    assert "the jobs of the source have changed since the copy was interrupted" in said.err
    assert "--restart" in said.err
    assert rows(there) == left
    cli.ok("--db", here, "copy", "--to", there, "--restart")
    assert everything(there) == everything(here)


def test_an_attempt_that_came_meanwhile_is_noticed(place: Places, cli: Cli) -> None:
    here, there = place("sqlite"), place("sqlite")
    fill(here)
    interrupted(here, there, after=301)
    insert(here, "attempts", attempt(2))
    assert "the attempts of the source have changed" in cli("--db", here, "copy", "--to", there, code=4).err


def test_jobs_that_came_meanwhile_are_copied_too(place: Places, cli: Cli) -> None:
    here, there = place("sqlite"), place("mysql")
    fill(here)
    interrupted(here, there, after=300)
    cli.ok("--db", here, "enqueue", "echo new")
    assert cli.ok("--db", here, "copy", "--to", there).out.startswith("✓ 301 jobs, 150 attempts, 1 setting")
    assert everything(there) == everything(here)


@pytest.mark.parametrize("point", ["clear.before_commit", "clear.committed"])
@pytest.mark.parametrize("engine", engines(long=["mysql"]))
def test_a_restart_that_is_killed_itself(engine: str, point: str, place: Places, cli: Cli) -> None:
    here, there = place("sqlite"), place(engine)
    fill(here)
    interrupted(here, there, after=150)
    change(here, "UPDATE jobs SET priority = 9")
    killed_at(point, "--db", here, "copy", "--to", there, "--restart")
    cli.ok("--db", here, "copy", "--to", there, "--restart")
    assert everything(there) == everything(here)


def test_another_queue_cannot_go_on_with_it(place: Places, cli: Cli) -> None:
    here, other, there = place("sqlite"), place("sqlite"), place("postgres")
    fill(here)
    fill(other)
    change(other, "UPDATE jobs SET command = 'other' WHERE seq = 5")
    interrupted(here, there, after=1)
    said = cli("--db", other, "copy", "--to", there, code=4).err
    assert "is an unfinished copy of another queue: " in said
    assert f":{here}\n" in said
    # By force it is compared first.
    assert "changed" in cli("--db", other, "copy", "--to", there, "--resume", code=4).err


def test_the_same_queue_by_another_name_can(place: Places, cli: Cli) -> None:
    here, there = place("sqlite"), place("postgres")
    fill(here)
    interrupted(here, there, after=1)
    change(there, """UPDATE config SET value = '{"from": "elsewhere:/x.db", "at": 1}' WHERE key = '_copy'""")
    assert "elsewhere:/x.db" in cli("--db", here, "copy", "--to", there, code=4).err
    cli.ok("--db", here, "copy", "--to", there, "--resume")
    assert everything(there) == everything(here)


def test_resume_brings_a_finished_copy_up_to_date(place: Places, cli: Cli) -> None:
    here, there = place("sqlite"), place("mysql")
    fill(here)
    cli.ok("--db", here, "copy", "--to", there)
    insert(here, "jobs", job(301), job(302))
    assert (
        "is not empty: it has 300 jobs, 150 attempts, 1 setting"
        in cli("--db", here, "copy", "--to", there, code=4).err
    )
    assert cli.ok("--db", here, "copy", "--to", there, "--resume").out.startswith("✓ 302 jobs")
    assert everything(there) == everything(here)


@pytest.mark.parametrize("engine", engines(long=["mysql"]))
def test_resume_adds_nothing_to_a_queue_of_its_own(engine: str, place: Places, cli: Cli) -> None:
    here, there = place("sqlite"), place(engine)
    fill(here)
    insert(there, "jobs", job(1, command="mine"))
    before = everything(there)
    said = cli("--db", here, "copy", "--to", there, "--resume", code=4).err
    assert "are not a beginning of those to copy" in said
    assert everything(there) == before


def test_restart_deletes_no_queue_of_its_own(place: Places, cli: Cli) -> None:
    here, there = place("sqlite"), place("sqlite")
    fill(here)
    fill(there, 20)
    before = everything(there)
    said = cli("--db", here, "copy", "--to", there, "--restart", code=4).err
    assert "is not an unfinished copy, so nothing of it is deleted" in said
    assert everything(there) == before
    assert "both" in cli("--db", here, "copy", "--to", there, "--restart", "--resume", code=2).err


def test_a_source_that_is_changed_during_the_copy_is_noticed(place: Places, cli: Cli) -> None:
    here, there = place("sqlite"), place("sqlite")
    fill(here)
    changed = []

    def meddle(phase: str, done: int, total: int) -> None:
        if phase == "copied" and done > 300 and not changed:
            changed.append(done)
            change(here, "UPDATE jobs SET priority = 4 WHERE seq = 7")

    with pytest.raises(QueuectlError, match="not verified: the jobs in the source and in the target are not"):
        copy_queue(here, there, progress=meddle)
    assert changed
    assert "have changed since" in cli("--db", here, "copy", "--to", there, code=4).err


def test_a_target_that_is_changed_during_the_copy_is_noticed(place: Places) -> None:
    here, there = place("sqlite"), place("postgres")
    fill(here)

    def meddle(phase: str, done: int, total: int) -> None:
        if phase == "copied" and done == total:
            change(there, "DELETE FROM attempts WHERE job_seq = 3")

    with pytest.raises(QueuectlError, match="150 attempts in the source, but 149 in the target"):
        copy_queue(here, there, progress=meddle)


@pytest.mark.parametrize("engine", engines(long=["mysql"]))
def test_two_that_write_at_once_do_not_mix(engine: str, place: Places) -> None:
    here, there = place("sqlite"), place(engine)
    fill(here)

    def meddle(phase: str, done: int, total: int) -> None:
        if phase == "copied" and 0 < done < 200:
            insert(there, "jobs", job(done + 1, id=f"mine{done}"))

    with pytest.raises(StoreError, match="somebody else writes to"):
        copy_queue(here, there, progress=meddle)


def test_a_worker_that_starts_during_the_copy_is_noticed(place: Places) -> None:
    here, there = place("sqlite"), place("sqlite")
    fill(here)
    with Queue.open(here) as queue:
        workers: list[FakeWorker] = []

        def meddle(phase: str, done: int, total: int) -> None:
            if phase == "verified" and not workers:
                workers.append(FakeWorker(queue))

        with pytest.raises(Refused, match="a worker is active on the source"):
            copy_queue(here, there, progress=meddle)


def test_ctrl_c_leaves_what_can_be_gone_on_with(place: Places, cli: Cli) -> None:
    here, there = place("sqlite"), place("sqlite")
    fill(here)

    def interrupt(phase: str, done: int, total: int) -> None:
        if phase == "copied" and done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        copy_queue(here, there, progress=interrupt)
    assert 0 < rows(there)["jobs"] < 300
    assert cli.ok("--db", here, "copy", "--to", there).out.startswith("✓ 300 jobs")


@pytest.mark.parametrize("mark", ["", "{}", "[]", "no json"])
def test_a_mark_that_nobody_can_read_still_guards(mark: str, place: Places, cli: Cli) -> None:
    here, there = place("sqlite"), place("sqlite")
    fill(here)
    insert(there, "config", {"key": "_copy", "value": mark, "updated_at": NOW})
    assert "unfinished copy of an unknown queue" in cli("--db", there, "list", code=4).err
    cli.ok("--db", here, "copy", "--to", there, "--resume")
    assert everything(there) == everything(here)


def test_the_mark_names_the_source_without_its_password(place: Places, cli: Cli) -> None:
    here = place("sqlite")
    fill(here)
    interrupted(here, there := place("sqlite"), after=1)
    ((text,),) = ask(there, "SELECT value FROM config WHERE key = '_copy'")
    assert f':{here}"' in str(text)
    with opened(there) as store:
        assert list(store.stored_config()) == ["_copy"]
    cli("--db", there, "status", code=4)
