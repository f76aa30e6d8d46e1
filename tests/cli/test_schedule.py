"""schedule: recurring jobs, from the command line."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.conformance.test_schedules import put, schedule
from tests.support.cli import Cli

from queuectl import schedules
from queuectl.queue import Queue

NOBODY = "note: no worker is running, so nobody fires schedules. Start one: queuectl worker start\n"


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")


class TestAdd:
    def test_says_when_in_words_and_the_next_times(self, cli: Cli) -> None:
        result = cli("schedule", "add", "nightly", "0 3 * * *", "--tz", "Europe/Berlin", "--", "ls", "-l")
        _, *times = result.out.splitlines()
        assert (result.code, len(times)) == (0, 3)
        assert all(time.startswith("  next ") and " UTC (in " in time for time in times)
        assert result.err == NOBODY

    def test_stores_the_job_and_the_rules(self, cli: Cli, queue: Queue, work_dir: Path) -> None:
        words = ("schedule", "add", "--catch-up", "all", "s", "@every 90", "--priority", "5", "-t", "a")
        result = cli(*words, "echo hi | wc", "--timeout", "10m", "--json")
        document = result.json()
        assert document["job"] == {
            "command": "echo hi | wc",
            "cwd": str(work_dir),
            "priority": 5,
            "tags": ["a"],
            "timeout": "10m",
        }
        expected = {"schedule": "@every 1m30s", "zone": "UTC", "catch_up": "all", "overlap": "queue"}
        assert {name: document[name] for name in expected} == expected
        assert document["next_times"][0] == document["next_at"]
        assert schedules.get(queue, "s").fields() == document["job"]

    def test_takes_the_words_of_the_command_as_they_are(self, cli: Cli, queue: Queue) -> None:
        assert cli("schedule", "add", "s", "@daily", "git", "log", "--", "--tz", "x").code == 0
        assert cli("schedule", "add", "t", "@daily", "--overlap", "allow", "--", "x", "--tz", "y").code == 0
        assert cli("schedule", "add", "u", "@daily", '{"command": "x", "priority": 2}').code == 0
        assert schedules.get(queue, "s").fields()["argv"] == ["git", "log", "--", "--tz", "x"]
        assert schedules.get(queue, "t").fields()["argv"] == ["x", "--tz", "y"]
        assert schedules.get(queue, "u").fields()["priority"] == 2

    def test_a_name_is_taken_once_unless_it_is_to_be_replaced(self, cli: Cli, queue: Queue) -> None:
        cli("schedule", "add", "s", "@daily", "--", "a")
        assert cli.failure("schedule", "add", "s", "@hourly", "--", "b") == (2, "invalid_input")
        assert cli("schedule", "add", "s", "@hourly", "--replace", "--", "b").code == 0
        found = schedules.get(queue, "s")
        assert (found.recurrence, found.fields()["command"]) == ("@hourly", "b")

    @pytest.mark.parametrize(
        "words",
        [
            ("s", "0 3 * *", "--", "x"),
            ("s", "@daily", "--tz", "CET", "--", "x"),
            ("a b", "@daily", "--", "x"),
            ("s", "@daily"),
            ("s",),
            ("s", "@daily", "--id", "x", "--", "x"),
            ("s", "@daily", "--at", "17:00", "--", "x"),
            ("s", "@daily", "--catch-up", "all", "--overlap", "skip", "--", "x"),
            ("s", "@daily", "--timeout", "0", "--", "x"),
            ("s", "@daily", "--catchup", "all", "--", "x"),
        ],
    )
    def test_refuses_before_a_store_is_made(self, cli: Cli, home_dir: Path, words: tuple[str, ...]) -> None:
        assert cli.failure("schedule", "add", *words) == (2, "invalid_input")
        assert not home_dir.exists()


class TestLooking:
    def test_without_any(self, cli: Cli, queue: Queue) -> None:
        assert cli("schedule").code == cli("schedule", "list").code == 0
        assert cli("schedule", "list", "--json").json() == []

    def test_a_table(self, cli: Cli, queue: Queue) -> None:
        cli("schedule", "add", "b", "0 3 * * *", "--tz", "Europe/Berlin", "--", "ls", "a b")
        put(
            queue.store,
            schedule("a", recurrence="@every 10m", paused_at=5, fired=7, job='{"command":"\\u001b[2J"}'),
        )
        result = cli("schedule", "ls")
        header, first, second = result.out.splitlines()
        assert header.split() == ["NAME", "SCHEDULE", "NEXT", "LAST", "FIRED", "COMMAND"]
        assert first.split() == ["a", "@every", "10m", "paused", "-", "7", r"\x1b[2J"]
        assert second.startswith("b     0 3 * * * Europe/Berlin  ")
        assert second.endswith("0      ls 'a b'")
        assert result.err == NOBODY

    def test_one_with_its_next_times(self, cli: Cli) -> None:
        cli("schedule", "add", "s", "30 9 * * MON-FRI", "--env", "TOKEN=secret", "--", "x")
        result = cli("schedule", "show", "s", "--next", "2")
        assert result.code == 0
        assert "In words:    at 09:30 on Monday through Friday (UTC)" in result.out
        assert "Environment: TOKEN" in result.out
        assert "secret" not in result.out
        assert result.out.count(" 09:30 UTC (in ") == 2
        document = cli("schedule", "show", "s", "--next", "4", "--json").json()
        assert len(document["next_times"]) == 4
        assert document["job"]["env"] == {"TOKEN": "***"}

    def test_one_that_is_damaged(self, cli: Cli, queue: Queue) -> None:
        put(queue.store, schedule(job="{"), schedule("t", zone="Mars/Base"))
        assert "damaged" in cli("schedule", "show", "s").out
        assert "time zone 'Mars/Base' is not known" in cli("schedule", "show", "t").out
        assert cli("schedule", "list").code == 0
        assert len(cli("schedule", "list", "--json").json()) == 2

    def test_one_that_is_not_there(self, cli: Cli) -> None:
        cli("schedule", "add", "nightly", "@daily", "--", "x")
        assert cli.failure("schedule", "show", "nigthly") == (1, "not_found")


class TestActing:
    def test_pause_and_resume(self, cli: Cli, queue: Queue) -> None:
        put(queue.store, schedule())
        assert cli("schedule", "pause", "s").code == 0
        assert cli("schedule", "pause", "s", "--json").json()["paused"] is True
        assert "If resumed:" in cli("schedule", "show", "s").out
        assert cli("schedule", "resume", "s").code == 0
        next_at = schedules.get(queue, "s").next_at
        assert next_at is not None
        assert next_at > queue.clock.now() - 1_000, "what fell into the pause is gone"
        assert cli("schedule", "resume", "s", "--json").json()["paused"] is False

    def test_trigger(self, cli: Cli, queue: Queue) -> None:
        cli("schedule", "add", "s", "@yearly", "--queue", "mail", "--", "x")
        before = schedules.get(queue, "s").next_at
        assert cli("schedule", "trigger", "s").code == 0
        (job,) = queue.list()
        assert (job.queue, job.state, job.schedule) == ("mail", "pending", "s")
        assert cli.failure("schedule", "trigger", "s") == (4, "refused")
        found = schedules.get(queue, "s")
        assert (found.next_at, found.fired, found.last_job) == (before, 1, job.id)
        queue.cancel(job.id)
        assert cli("schedule", "trigger", "s", "--json").json()["schedule"] == "s"

    def test_rm_leaves_the_jobs(self, cli: Cli, queue: Queue) -> None:
        cli("schedule", "add", "s", "@yearly", "--", "x")
        cli("schedule", "trigger", "s")
        assert cli("schedule", "rm", "s").code == 0
        assert schedules.every(queue) == []
        assert len(queue.list()) == 1
        assert cli.failure("schedule", "rm", "s") == (1, "not_found")
