"""status and wait: how it goes, and when it is done."""

from __future__ import annotations

import signal

import pytest
from tests.support.cli import Cli, Start
from tests.support.fake_worker import FakeWorker, out

from queuectl.queue import Queue
from queuectl.testing import wait_until


class TestStatus:
    def test_has_the_lines_that_scripts_look_for(self, cli: Cli, jobs_in_every_state: None) -> None:
        assert cli("status").out.splitlines()[:10] == [
            "Active Workers: 1",
            "Pending: 1",
            "Processing: 1",
            "Completed: 1",
            "Failed: 1",
            "Dead (DLQ): 1",
            "Scheduled: 1",
            "Blocked: 0",
            "Cancelled: 1",
            "Total: 7",
        ]

    def test_tells_age_throughput_and_eta(self, cli: Cli, jobs_in_every_state: None) -> None:
        lines = cli("status").out.splitlines()[10:]
        assert lines[0].startswith("Oldest waiting: ")
        assert lines[1] == "Throughput: 0.4 jobs/min (last 5 min)"
        assert lines[2].startswith("ETA: ~7m30s (by the throughput")
        assert len(lines) == 3

    def test_rates_a_busy_queue_by_its_last_minute(
        self, cli: Cli, queue: Queue, fake_worker: FakeWorker
    ) -> None:
        for id in queue.enqueue_many(["true"] * 12):
            fake_worker.complete(id)
        assert "Throughput: 12 jobs/min (last 1 min)" in cli("status").out

    def test_the_eta_is_not_made_of_time_when_there_was_nothing_to_do(
        self, cli: Cli, queue: Queue, fake_worker: FakeWorker
    ) -> None:
        """The first second of a big batch: 20 ended, 600 wait. By the minute it would be half an hour."""
        for id in queue.enqueue_many(["true"] * 620)[:20]:
            fake_worker.complete(id)
        status = cli("status", "--json").json()
        assert status["throughput_per_minute"] == 20
        assert status["drain_seconds"] < 600
        assert status["eta_seconds"] < 600

    def test_without_jobs_and_workers_says_how_to_begin(self, cli: Cli) -> None:
        result = cli("status")
        assert result.out.startswith("Active Workers: 0\nPending: 0\n")
        assert "queuectl enqueue 'echo hello'" in result.err

    def test_json_has_every_state(self, cli: Cli, jobs_in_every_state: None) -> None:
        document = cli("status", "--json").json()
        assert document["jobs"]["dead"] == 1
        assert set(document["jobs"]) >= {"pending", "scheduled", "blocked", "cancelled"}
        assert (document["total"], document["workers"]) == (7, 1)
        assert document["drain_seconds"] == document["eta_seconds"] == 450
        assert document["eta"]["by"] == "throughput"
        assert document["throughput_per_minute"] == 0.4

    def test_of_one_queue(self, cli: Cli, jobs_in_every_state: None) -> None:
        assert cli("status", "--queue", "mail", "--json").json()["total"] == 1

    def test_does_not_count_workers_that_are_gone(self, cli: Cli, queue: Queue) -> None:
        FakeWorker(queue, alive=False)
        assert "Active Workers: 0" in cli("status").out

    def test_watches_until_ctrl_c(self, start: Start, queue: Queue) -> None:
        process = start("status", "--watch", "0.1")
        assert process.stdout is not None
        lines = process.stdout
        first = [lines.readline() for _ in range(10)]
        queue.enqueue("true")
        wait_until(lambda: b"Pending: 1" in lines.readline(), what="a second look")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=20)
        assert first[1] == b"Pending: 0\n"
        assert process.returncode == 0

    def test_watch_and_json_do_not_go_together(self, cli: Cli) -> None:
        assert cli("status", "--watch", "--json").code == 2


class TestWait:
    def test_is_0_when_all_have_completed(self, cli: Cli, jobs_in_every_state: None) -> None:
        assert cli("wait", "done").code == 0

    def test_is_1_when_one_is_dead_or_cancelled(self, cli: Cli, jobs_in_every_state: None) -> None:
        result = cli("wait", "done", "broken", "stopped")
        assert (result.code, result.out) == (1, "")

    def test_is_124_when_the_time_is_up(self, cli: Cli, jobs_in_every_state: None) -> None:
        result = cli("wait", "--queue", "mail", "--timeout", "50ms", "--json")
        assert result.code == 124
        assert result.json()["timed_out"] is True
        assert result.json()["jobs"]["pending"] == 1

    def test_ends_with_the_last_job(self, start: Start, queue: Queue, fake_worker: FakeWorker) -> None:
        queue.enqueue("true", id="a", tags=["x"])
        queue.enqueue("true", id="b", tags=["x"])
        process = start("wait", "--tag", "x", "--timeout", "60")
        fake_worker.complete("a")
        assert process.poll() is None
        fake_worker.complete("b", output=out(b"hi"))
        process.communicate(timeout=30)
        assert process.returncode == 0

    def test_takes_more_ids_than_a_query_can(self, cli: Cli, queue: Queue) -> None:
        made = queue.enqueue_many(["true"] * 6_000)
        assert cli("wait", "--timeout", "0", *made).code == 124

    def test_for_everything(self, cli: Cli, queue: Queue, fake_worker: FakeWorker) -> None:
        assert cli("wait", "--all").code == 0
        queue.enqueue("true", id="a")
        fake_worker.complete("a")
        assert cli("wait", "--all", "--json").json()["jobs"]["completed"] == 1

    @pytest.mark.parametrize(
        ("words", "code"),
        [([], 2), (["done", "--all"], 2), (["nobody"], 1), (["done", "--timeout", "soon"], 2)],
    )
    def test_refuses_what_makes_no_sense(
        self, cli: Cli, jobs_in_every_state: None, words: list[str], code: int
    ) -> None:
        assert cli("wait", *words).code == code
