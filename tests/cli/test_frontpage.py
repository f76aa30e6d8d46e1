"""`queuectl` alone: how things stand, and what to try next. It only looks."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.cli import Cli, Result, assert_store_error
from tests.support.fake_worker import FakeWorker

from queuectl import queues, schedules
from queuectl.cli.nextsteps import Situation, next_steps
from queuectl.core import states
from queuectl.queue import Queue

FIRST = ['queuectl enqueue "echo hello"', "queuectl run -- echo hello", "queuectl demo"]


def suggested(result: Result) -> list[str]:
    assert result.code == 0, result.err
    lines = result.out.partition("Try next:\n")[2].splitlines()[:3]
    return [line.strip().partition("  ")[0] for line in lines]


# --- no store -----------------------------------------------------------------------------------------


def test_without_a_store_none_is_made(cli: Cli, home_dir: Path) -> None:
    page = cli()
    assert suggested(page) == FIRST
    assert "none; the store is made by the first one" in page.out
    assert not home_dir.exists()
    assert cli("--json").json()["exists"] is False
    assert not home_dir.exists()


def test_without_a_store_as_json(cli: Cli, home_dir: Path) -> None:
    found = cli("--json").json()
    assert found["jobs"] == dict.fromkeys(states.ALL, 0)
    assert (found["total"], found["workers"]) == (0, 0)
    assert [step["command"] for step in found["next"]] == FIRST


def test_a_job_on_every_engine(cli: Cli, queue: Queue) -> None:
    queue.enqueue("true")
    page = cli()
    assert "Waiting    1 ready; the oldest for " in page.out
    assert suggested(page)[0] == "queuectl worker start"


# --- of a file ----------------------------------------------------------------------------------------


class TestOfAFile:
    def test_a_named_store_is_named_in_what_to_try(self, cli: Cli, work_dir: Path) -> None:
        steps = suggested(cli("--db", "my jobs.db"))
        assert steps[1] == "queuectl --db 'my jobs.db' run -- echo hello"
        assert list(work_dir.iterdir()) == []

    def test_an_empty_file_stays_empty(self, cli: Cli, work_dir: Path) -> None:
        (work_dir / "empty.db").touch()
        assert "none; the store is made" in cli("--db=empty.db").out
        assert (work_dir / "empty.db").stat().st_size == 0

    def test_a_file_of_somebody_else_is_an_error(self, cli: Cli, work_dir: Path) -> None:
        (work_dir / "notes.txt").write_text("not a database, but long enough to be looked at\n" * 20)
        assert_store_error(cli("--db", "notes.txt"), "not a database")

    def test_an_option_that_is_not_there(self, cli: Cli, home_dir: Path) -> None:
        result = cli("--db", "x.db", "--frobnicate")
        assert result.code == 2
        assert "unknown option '--frobnicate'" in result.err

    def test_an_empty_store(self, cli: Cli, queue: Queue) -> None:
        page = cli()
        assert "Workers    none is running\nJobs       none\n" in page.out
        assert suggested(page) == FIRST

    def test_one_job_and_nobody_to_run_it(self, cli: Cli, queue: Queue) -> None:
        queue.enqueue("true")
        page = cli()
        assert "Waiting    1 ready; the oldest for 0s\n" in page.out
        assert suggested(page)[0] == "queuectl worker start"

    def test_very_many_jobs(self, cli: Cli, queue: Queue) -> None:
        queue.enqueue_many(["true"] * 100_000)
        assert "Waiting    100,000 ready; the oldest for " in cli().out

    def test_every_kind_of_job(self, cli: Cli, jobs_in_every_state: None) -> None:
        lines = cli().out.splitlines()
        assert lines[3:10] == [
            "Workers    1 running, 1 job at once",
            "Waiting    1 ready, 1 scheduled; the oldest for 0s",
            "Running    1",
            "Failed     1, to be tried again",
            "Dead       1, in the dead letter queue",
            "Completed  1",
            "Cancelled  1",
        ]

    def test_dead_jobs_come_first_while_workers_run(self, cli: Cli, jobs_in_every_state: None) -> None:
        assert suggested(cli())[0].startswith("queuectl dlq ")

    def test_schedules_without_a_worker(self, cli: Cli, queue: Queue) -> None:
        schedules.add(queue, "nightly", "@every 2h", {"command": "true"})
        page = cli()
        assert re.search(r"^Schedules  1, the next fires in \d+[smh]$", page.out, re.MULTILINE)
        assert suggested(page)[0] == "queuectl worker start"

    def test_a_paused_queue_says_why(self, cli: Cli, queue: Queue, fake_worker: FakeWorker) -> None:
        queue.enqueue("true", queue="mail")
        queues.pause(queue, "mail", reason="moving\x1b[2J")
        page = cli()
        assert "Queue      mail paused: moving\\x1b[2J\n" in page.out
        assert suggested(page)[0] == "queuectl queue resume mail"

    def test_a_job_that_is_not_taken_is_explained(
        self, cli: Cli, queue: Queue, fake_worker: FakeWorker
    ) -> None:
        queue.enqueue("true", id="left")
        assert suggested(cli())[0] == "queuectl explain left"

    def test_json_has_the_figures_of_status(self, cli: Cli, jobs_in_every_state: None) -> None:
        found, status = cli("--json").json(), cli("status", "--json").json()
        assert found["exists"] is True
        assert {**found, "oldest_waiting_seconds": 0} == {**found, **status, "oldest_waiting_seconds": 0}

    def test_what_is_suggested_can_be_typed(self, cli: Cli, jobs_in_every_state: None) -> None:
        for command in suggested(cli()):
            done = cli(*shlex.split(command)[1:])
            assert done.code == 0 or "add --yes" in done.err

    @pytest.mark.process
    def test_it_loads_nothing_slow(self, queue: Queue) -> None:
        script = (
            "import sys; from queuectl.cli.main import main; main([]); print(*sys.modules, file=sys.stderr)"
        )
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        slow = {"rich", "textual", "asyncio", "subprocess", "tempfile", "sqlite3", "psycopg", "difflib"}
        assert not slow & set(done.stderr.split())


# --- what to try, by the situation --------------------------------------------------------------------


def steps(**counts: int) -> list[str]:
    workers = counts.pop("workers", 0)
    has_top = bool(counts.pop("has_top", 1))
    every = dict.fromkeys(states.ALL, 0) | counts
    return [words for words, _ in next_steps(Situation(every, workers=workers, has_top=has_top))]


class TestWhatToTry:
    def test_there_are_always_three(self) -> None:
        for state in states.ALL:
            for workers in (0, 1):
                found = steps(**{state: 1}, workers=workers)
                assert len(set(found)) == 3

    def test_all_is_well(self) -> None:
        assert steps(completed=5, workers=1) == ["list", "stats", 'enqueue "echo hello"']

    def test_work_in_progress_is_watched(self) -> None:
        assert steps(processing=1, workers=1) == ["status --watch", "top", "list"]

    def test_top_is_not_named_where_it_cannot_run(self) -> None:
        assert "top" not in steps(processing=1, workers=1, has_top=0)

    def test_a_worker_comes_before_the_dead(self) -> None:
        assert steps(pending=1, dead=1)[:2] == ["worker start", "dlq list"]
