"""From any engine to any other: all of it, as it was, and the source untouched."""

from __future__ import annotations

import pytest
from tests.support.cli import Cli
from tests.support.engines import engine_pairs, engines
from tests.support.jobs import register
from tests.transfer.places import Places, ask, everything, insert, opened
from tests.transfer.rows import AWKWARD_WORDS, attempt, fill, fill_awkwardly, job

from queuectl.queue import Queue


@pytest.mark.parametrize(("source", "target"), engine_pairs())
def test_every_value_arrives_as_it_was(source: str, target: str, place: Places, cli: Cli) -> None:
    here, there = place(source), place(target)
    fill_awkwardly(here)
    before = everything(here)

    done = cli.ok("--db", here, "copy", "--to", there)

    assert done.out == f"✓ {AWKWARD_WORDS} copied and verified\n"
    assert everything(there) == before
    assert everything(here) == before


@pytest.mark.parametrize("target", engines(long=["mysql"]))
def test_a_new_job_comes_behind_the_copied_ones(target: str, place: Places, cli: Cli) -> None:
    here, there = place("sqlite"), place(target)
    insert(here, "jobs", job(7), job(4_000_000_000))
    cli.ok("--db", here, "copy", "--to", there)
    with Queue.open(there) as queue:
        first, second = queue.enqueue("true"), queue.enqueue("true")
    assert 4_000_000_000 < first.seq < second.seq


@pytest.mark.parametrize("target", engines(long=["mysql"]))
def test_an_empty_queue_is_copied_too(target: str, place: Places, cli: Cli) -> None:
    here, there = place("sqlite"), place(target)
    cli.ok("--db", here, "init")
    assert cli.ok("--db", here, "copy", "--to", there).out.startswith(
        "✓ 0 jobs, 0 attempts, 0 settings copied"
    )
    with Queue.open(there) as queue:
        assert queue.enqueue("true").state == "pending"


def test_the_copy_is_an_ordinary_queue_afterwards(place: Places, cli: Cli) -> None:
    here, there = place("sqlite"), place("postgres")
    fill(here, 10)
    cli.ok("--db", here, "copy", "--to", there)
    assert cli.ok("--db", there, "config", "get", "max-retries").out == "5\n"
    assert "_copy" not in cli.ok("--db", there, "config", "list").out
    assert ask(there, "SELECT key FROM config") == [("max-retries",)]
    assert len(cli.ok("--db", there, "list", "--json").json()) == 10


def test_the_result_as_json(place: Places, cli: Cli) -> None:
    here, there = place("sqlite"), place("mysql")
    fill(here, 10)
    done = cli.ok("copy", "--from", here, "--to", there, "--json").json()
    assert (done["from"], done["verified"], done["resumed"]) == (here, True, False)
    assert {name: table["rows"] for name, table in done["tables"].items()} == {
        "jobs": 10,
        "attempts": 5,
        "config": 1,
        **dict.fromkeys(("dependencies", "unsettled", "queues", "job_groups", "schedules"), 0),
    }
    again = cli.ok("--db", there, "copy", "--to", place("postgres"), "--json").json()
    assert again["tables"] == done["tables"]


@pytest.mark.parametrize("target", engines(long=["mysql"]))
def test_nul_in_an_error_becomes_visible(target: str, place: Places, cli: Cli) -> None:
    """SQLite keeps it, PostgreSQL cannot."""
    here, there = place("sqlite"), place(target)
    insert(here, "jobs", job(1, last_error="a\0b"))
    insert(here, "attempts", attempt(1, error="\0"))
    cli.ok("--db", here, "copy", "--to", there)
    assert ask(there, "SELECT last_error FROM jobs") == [("a\\x00b",)]
    assert ask(there, "SELECT error FROM attempts") == [("\\x00",)]


def test_workers_are_not_copied(place: Places, cli: Cli) -> None:
    here, there = place("sqlite"), place("sqlite")
    fill(here, 4)
    with opened(here) as store:
        register(store, "gone", lease_ms=-1)
    cli.ok("--db", here, "copy", "--to", there)
    assert ask(there, "SELECT id FROM workers") == []


def test_a_password_is_never_shown(place: Places, cli: Cli) -> None:
    fill(here := place("sqlite"), 2)
    target = "postgresql://somebody:s3cret@127.0.0.1:1/db"
    said = cli("--db", here, "copy", "--to", target, code=3)
    assert "postgresql://somebody@127.0.0.1:1/db" in said.err
    assert "s3cret" not in said.out + said.err


def test_an_address_of_nothing(place: Places, cli: Cli) -> None:
    fill(here := place("sqlite"), 2)
    assert "unsupported" in cli("--db", here, "copy", "--to", "redis://x/y", code=2).err
    assert "empty" in cli("--db", here, "copy", "--to", " ", code=2).err
    assert "--to" in cli("--db", here, "copy", code=2).err
    assert "no database at" in cli("--db", here + ".not", "copy", "--to", here, code=3).err
