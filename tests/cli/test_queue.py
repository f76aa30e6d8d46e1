"""queuectl queue: what waits in each, limits, pauses, draining."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.cli import Cli, Start, Terminal
from tests.support.fake_worker import FakeWorker

from queuectl import queues
from queuectl.core.outcome import SUCCEEDED
from queuectl.queue import Queue
from queuectl.testing import wait_until


class TestList:
    def test_of_nothing(self, cli: Cli) -> None:
        result = cli("queue", "list")
        assert (result.code, result.out) == (0, "")
        assert cli("queue", "--json").json() == []

    def test_names_all_that_have_jobs_rules_or_workers(
        self, cli: Cli, queue: Queue, fake_worker: FakeWorker, jobs_in_every_state: None
    ) -> None:
        cli("queue", "set", "reports", "--concurrency", "4", "--rate", "100/min", "--burst", "5")
        cli("queue", "pause", "mail")
        lines = [line.split() for line in cli("queues").out.splitlines()]
        assert lines[0][:3] == ["QUEUE", "STATE", "RUNNING"]
        assert [line[:8] for line in lines[1:]] == [
            ["default", "open", "1", "0", "1", "1", "0", "1"],
            ["mail", "paused", "0", "1", "0", "0", "0", "0"],
            ["reports", "open", "0", "0", "0", "0", "0", "0"],
        ]
        assert " ".join(lines[3][8:]) == "- 1 4 at once, 100/min (burst 5)"

    def test_as_json(
        self, cli: Cli, queue: Queue, fake_worker: FakeWorker, jobs_in_every_state: None
    ) -> None:
        cli("queue", "set", "mail", "--timeout", "90s")
        default, mail = cli("queue", "list", "--json").json()
        assert (default["name"], default["running"], default["jobs"]["dead"]) == ("default", 1, 1)
        assert default["oldest_waiting_seconds"] is None
        assert (mail["name"], mail["jobs"]["pending"], mail["workers"]) == ("mail", 1, 1)
        assert (mail["timeout"], mail["concurrency"], mail["paused"]) == (90, None, False)
        assert mail["oldest_waiting_seconds"] >= 0

    def test_counts_the_workers_that_serve_each(self, cli: Cli, queue: Queue) -> None:
        for names in (None, "mail=3,gpu=1", "mail"):
            fake_worker = FakeWorker(queue)
            fake_worker.leave()
            fake_worker.worker.queues = names
            queue.store.register(fake_worker.worker, 600_000)
        shown = {found["name"]: found["workers"] for found in cli("queue", "list", "--json").json()}
        assert shown == {"gpu": 2, "mail": 3}
        assert cli("queue", "show", "gpu", "--json").json()["workers"] == 2


class TestShow:
    def test_tells_everything(self, cli: Cli, queue: Queue) -> None:
        queue.enqueue("true", queue="mail")
        cli("queue", "set", "mail", "-j", "4", "--max-retries", "1", "--backoff-strategy", "fixed")
        cli("queue", "pause", "mail", "--reason", "moving\x1b[31m", "--until", "2999-01-01 09:00")
        shown = cli("queue", "show", "mail").out
        for part in (
            "State:          paused\n",
            "Paused until:   Tue 2999-01-01 09:00",
            "Reason:         moving\\x1b[31m\n",
            "Jobs:           1 pending\n",
            "Concurrency:    4 at once\n",
            "Rate:           any\n",
            "Job defaults:   1 retry, fixed backoff\n",
        ):
            assert part in shown

    def test_of_an_unknown_queue_names_the_known_ones(self, cli: Cli, queue: Queue) -> None:
        queue.enqueue("true", queue="mail")
        queue.enqueue("true", queue="reports")
        hint = cli("--json", "queue", "show", "gpu").error["hint"]
        assert "mail" in hint
        assert "reports" in hint
        assert cli.failure("queue", "show", "mial") == (1, "not_found")

    def test_of_the_default_queue_before_any_job(self, cli: Cli) -> None:
        assert cli("queue", "show", "default", "--json").json()["running"] == 0


class TestSet:
    def test_says_what_holds_now(self, cli: Cli, queue: Queue) -> None:
        cli("queue", "set", "mail", "--concurrency", "4", "--rate", "100/minute", "--timeout", "10m")
        words = ("--concurrency", "none", "--burst", "7", "--backoff-base", "1.5")
        shown = cli("queue", "set", "mail", *words, "--json").json()
        expected = {"concurrency": None, "rate": "100/min", "burst": 7, "timeout": 600, "backoff_base": 1.5}
        assert {name: shown[name] for name in expected} == expected

    def test_a_timeout_in_percent_takes_the_place_of_one_in_time(self, cli: Cli, queue: Queue) -> None:
        assert cli("queue", "set", "mail", "--timeout", "10m").code == 0
        assert cli("queue", "set", "mail", "--timeout", "300%").code == 0
        shown = cli("queue", "show", "mail", "--json").json()
        assert (shown["timeout"], shown["timeout_percent"]) == (None, 300)
        cli("enqueue", "--queue", "mail", "--id", "a", "true")
        cli("enqueue", "--queue", "mail", "--id", "b", "--timeout", "90s", "true")
        cli("enqueue", "--queue", "mail", "--id", "c", "--timeout", "200%", "true")
        found = [cli("show", id, "--json").json() for id in "abc"]
        assert [job["timeout"] for job in found] == [None, 90, None]
        assert [job.get("timeout_percent") for job in found] == [300, None, 200]
        cli("queue", "set", "mail", "--timeout", "5m")
        shown = cli("queue", "show", "mail", "--json").json()
        assert (shown["timeout"], shown["timeout_percent"]) == (300, None)
        cli("queue", "set", "mail", "--timeout", "300%")
        cli("queue", "set", "mail", "--timeout", "none")
        assert queue.store.queues().all() == []

    def test_of_many_jobs_at_once_too(self, cli: Cli, queue: Queue, tmp_path: Path) -> None:
        cli("queue", "set", "mail", "--timeout", "300%")
        lines = tmp_path / "lines"
        lines.write_text("true\nfalse\n")
        assert cli("enqueue", "--queue", "mail", "--lines", "--file", str(lines)).code == 0
        assert [job["timeout_percent"] for job in cli("list", "--json").json()] == [300, 300]

    def test_none_of_everything_leaves_no_rule(self, cli: Cli, queue: Queue) -> None:
        cli(
            "queue",
            "set",
            "mail",
            "--rate",
            "100/min",
            "--burst",
            "3",
            "--retry-delay",
            "9s",
            "--backoff-max",
            "1h",
        )
        words = ("--rate", "none", "--retry-delay", "none", "--backoff-max", "none")
        assert cli("queue", "set", "mail", *words).code == 0
        assert queue.store.queues().all() == []

    def test_as_json(self, cli: Cli) -> None:
        shown = cli("queue", "set", "mail", "--max_retries=0", "--json").json()
        assert (shown["name"], shown["max_retries"]) == ("mail", 0)
        shown = cli("queue", "set", "mail", "--max-retries", "none", "--json").json()
        assert (shown["name"], shown["max_retries"]) == ("mail", None)

    @pytest.mark.parametrize(
        "words",
        [
            ("mail",),
            ("mail", "--concurrency", "0"),
            ("mail", "--concurrency", "-3"),
            ("mail", "--rate", "fast"),
            ("mail", "--burst", "5"),
            ("a/b", "--concurrency", "5"),
        ],
    )
    def test_refuses_what_makes_no_sense(self, cli: Cli, queue: Queue, words: tuple[str, ...]) -> None:
        assert cli.failure("queue", "set", *words) == (2, "invalid_input")
        assert queue.store.queues().all() == []


class TestPause:
    def test_of_a_queue_that_has_no_jobs_yet(self, cli: Cli, queue: Queue) -> None:
        assert cli("queue", "pause", "mail", "--reason", "server is down").code == 0
        assert cli("queue", "show", "mail", "--json").json()["pause_reason"] == "server is down"
        assert cli("status", "--json").json()["paused_queues"] == ["mail"]

    def test_for_some_time(self, cli: Cli, queue: Queue) -> None:
        before = queue.clock.now()
        assert cli("queue", "pause", "mail", "--for", "2h").code == 0
        rule = queue.store.queues().get("mail")
        assert rule is not None
        assert rule.paused_until is not None
        assert before + 7_200_000 <= rule.paused_until <= queue.clock.now() + 7_200_000

    @pytest.mark.parametrize(
        "words",
        [
            ("--for", "2h", "--until", "17:00"),
            ("--until", "2001-01-01"),
            ("--until", "soon"),
            ("--for", "0"),
            ("--reason", "x" * 501),
        ],
    )
    def test_refuses_what_makes_no_sense(self, cli: Cli, queue: Queue, words: tuple[str, ...]) -> None:
        assert cli.failure("queue", "pause", "mail", *words) == (2, "invalid_input")
        assert queue.store.queues().all() == []


class TestResume:
    def test_ends_a_pause(self, cli: Cli, queue: Queue) -> None:
        cli("queue", "pause", "mail")
        assert cli("queue", "resume", "mail").code == 0
        assert queue.store.queues().all() == []

    def test_of_what_was_not_paused_is_no_error(self, cli: Cli, queue: Queue) -> None:
        queue.enqueue("true", queue="mail")
        result = cli("queue", "resume", "mail")
        assert (result.code, result.out) == (0, "")

    def test_of_an_unknown_queue_is_an_error(self, cli: Cli, queue: Queue) -> None:
        assert cli.failure("queue", "resume", "mail") == (1, "not_found")


class TestDrain:
    def test_of_an_empty_queue_is_done_at_once(self, cli: Cli, queue: Queue) -> None:
        assert cli("queue", "drain", "mail").code == 0
        assert queues.is_draining(queue, "mail")
        cli("queue", "resume", "mail")
        assert not queues.is_draining(queue, "mail")

    def test_waits_for_the_last_job(self, start: Start, queue: Queue, fake_worker: FakeWorker) -> None:
        queue.enqueue("true", id="a")
        job = fake_worker.claim("a")
        process = start("queue", "drain", "default")
        wait_until(lambda: queues.is_draining(queue, "default"), what="the closing")
        assert process.poll() is None
        fake_worker.end(job, SUCCEEDED, exit_code=0)
        process.communicate(timeout=30)
        assert process.returncode == 0

    def test_does_not_wait_if_told_so(self, cli: Cli, queue: Queue) -> None:
        queue.enqueue("true", queue="mail")
        assert cli("queue", "drain", "mail", "--no-wait").code == 0
        assert queues.is_draining(queue, "mail")

    def test_waits_no_longer_than_told(self, cli: Cli, queue: Queue) -> None:
        queue.enqueue("true", queue="mail")
        cli("queue", "pause", "mail")
        result = cli("queue", "drain", "mail", "--timeout", "10ms")
        assert (result.code, result.out) == (124, "")
        assert cli("queue", "drain", "mail", "--timeout", "1ms", "--json").json()["drained"] is False

    def test_ends_when_somebody_opens_the_queue_again(
        self, start: Start, cli: Cli, queue: Queue, fake_worker: FakeWorker
    ) -> None:
        queue.enqueue("true", queue="mail")
        process = start("queue", "drain", "mail")
        wait_until(lambda: queues.is_draining(queue, "mail"), what="the closing")
        cli("queue", "resume", "mail")
        _, told = process.communicate(timeout=30)
        assert (process.returncode, told.decode()) == (1, "queue mail was opened again meanwhile\n")

    def test_shows_on_a_terminal_how_many_are_left(self, terminal: Terminal, queue: Queue) -> None:
        queue.enqueue("true", queue="mail")
        result = terminal("queue", "drain", "mail", "--timeout", "10ms")
        assert result.code == 124
        assert "draining mail: 1 job left" in result.out
