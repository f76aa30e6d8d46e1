"""metrics and stats: the numbers for a monitor, and for people."""

from __future__ import annotations

import subprocess
import sys

import pytest
from prometheus_client.parser import text_string_to_metric_families
from tests.support.cli import Cli
from tests.support.fake_worker import FakeWorker

from queuectl.core.measures import class_of
from queuectl.queue import Queue


def measured(queue: Queue, name: str, ms: int, count: int) -> None:
    """As a worker says it: so many jobs waited and ran so long."""
    amounts: list[tuple[object, object, int]] = []
    for what in ("wait", "run"):
        amounts += [(name, f"{what} {class_of(ms)}", count), (name, f"{what} ms", ms * count)]
    queue.store.history().measured(amounts, queue.clock.now())


class TestMetrics:
    def test_prints_what_prometheus_reads(self, cli: Cli, jobs_in_every_state: None) -> None:
        result = cli("metrics")
        assert (result.code, result.err) == (0, "")
        families = {family.name: family for family in text_string_to_metric_families(result.out)}
        waiting = [s.value for s in families["queuectl_jobs"].samples if s.labels["state"] == "pending"]
        assert waiting == [0, 1]
        assert families["queuectl_workers"].samples[0].value == 1

    def test_json_has_the_same_numbers(self, cli: Cli, jobs_in_every_state: None) -> None:
        document = {family["name"]: family for family in cli("metrics", "--json").json()}
        text = list(text_string_to_metric_families(cli("metrics").out))
        assert list(document) == [family.name for family in text]
        for family in text:
            mine = document[family.name]
            assert (mine["type"], mine["help"]) == (family.type, family.documentation)
            if family.name not in ("queuectl_store_latency_seconds", "queuectl_oldest_waiting_seconds"):
                assert [(s["name"], s["labels"], s["value"]) for s in mine["samples"]] == [
                    (s.name, s.labels, s.value) for s in family.samples
                ]

    def test_of_one_queue(self, cli: Cli, jobs_in_every_state: None) -> None:
        text = cli("metrics", "--queue", "mail").out
        assert 'queuectl_jobs{queue="mail",state="pending"} 1.0' in text
        assert 'queue="default"' not in text
        assert cli("metrics", "--queue", "no such name").code == 2

    @pytest.mark.process
    def test_a_missing_package_is_one_command_away(self, queue: Queue) -> None:
        code = (
            "import sys; sys.modules['prometheus_client'] = None; "
            "from queuectl.cli.main import main; sys.exit(main(['metrics']))"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
        )
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr == (
            "error: the metrics need the package prometheus_client\n  hint: pip install 'queuectl[web]'\n"
        )


class TestStats:
    def test_sums_up_for_people(self, cli: Cli, queue: Queue, jobs_in_every_state: None) -> None:
        measured(queue, "default", 100, 3)
        lines = cli("stats").out.splitlines()
        assert lines[0].startswith("Last 24h: since ")
        assert lines[1:10] == [
            "Enqueued: 7",
            "Completed: 1",
            "Dead: 1",
            "Cancelled: 1",
            "Failed attempts, tried again: 1",
            "Throughput: 0.1 jobs/hour",
            "Success rate: 50%",
            "Wait: p50 110ms, p95 130ms",
            "Run: p50 110ms, p95 130ms",
        ]
        assert lines[10] == ""
        assert [line.split()[:3] for line in lines[12:]] == [["default", "6", "1"], ["mail", "1", "0"]]

    def test_of_one_queue_there_is_no_table(self, cli: Cli, jobs_in_every_state: None) -> None:
        lines = cli("stats", "--queue", "mail", "--since", "1h").out.splitlines()
        assert len(lines) == 10
        assert lines[0].startswith("Last 1h: ")
        assert lines[1:3] == ["Enqueued: 1", "Completed: 0"]
        assert lines[7:] == ["Success rate: -", "Wait: nothing measured", "Run: nothing measured"]

    @pytest.mark.parametrize("since", ["1h", "24h", "7d", "30d"])
    def test_json(self, cli: Cli, queue: Queue, jobs_in_every_state: None, since: str) -> None:
        measured(queue, "default", 2_000, 2)
        document = cli("stats", "--json", "--since", since).json()
        assert (document["range"], document["queue"], document["enqueued"]) == (since, None, 7)
        assert (document["completed"], document["dead"], document["failed_attempts"]) == (1, 1, 1)
        assert document["success_rate"] == 0.5
        assert 1.5 <= document["run_seconds"]["p50"] <= 2.1
        assert [(one["queue"], one["enqueued"]) for one in document["queues"]] == [
            ("default", 6),
            ("mail", 1),
        ]
        assert document["queues"][1]["wait_seconds"] == {"p50": None, "p95": None}

    def test_what_was_moved_to_the_past_is_counted_too(
        self, cli: Cli, queue: Queue, jobs_in_every_state: None
    ) -> None:
        queue.store.history().fold(queue.clock.now() + 600_000)
        document = cli("stats", "--json", "--since", "7d").json()
        assert (document["enqueued"], document["completed"]) == (7, 1)
        assert [(one["queue"], one["enqueued"]) for one in document["queues"]] == [
            ("default", 6),
            ("mail", 1),
        ]

    def test_rounds_success_down(self, cli: Cli, queue: Queue, fake_worker: FakeWorker) -> None:
        queue.store.history().measured(
            [("default", "completed", 99_999), ("default", "dead", 1)], queue.clock.now()
        )
        assert "Success rate: 99.9%" in cli("stats").out

    def test_without_any_jobs(self, cli: Cli) -> None:
        result = cli("stats")
        assert "Enqueued: 0\n" in result.out
        assert "nothing happened" in result.err

    def test_a_queue_that_nobody_knows_is_not_found(self, cli: Cli, jobs_in_every_state: None) -> None:
        result = cli("stats", "--queue", "mial")
        assert (result.code, result.out) == (1, "")
        assert "did you mean mail?" in result.err

    @pytest.mark.parametrize(
        ("since", "said"),
        [
            ("90m", "Last 90m: since "),
            ("12h", "Last 12h: since "),
            ("3d", "Last 3d: since "),
            ("1w", "Last 1w: since "),
            ("1h 30m", "Last 1h 30m: since "),
            ("70s", "Last 70s, in steps of 1m: since "),  # two minutes: one may just have begun
            ("185m", "Last 185m, in steps of 10m: since "),
            ("50h30m", "Last 50h30m, in steps of 1h: since "),
            ("400d", "Last 400d: since "),
        ],
    )
    def test_any_time_will_do(self, cli: Cli, jobs_in_every_state: None, since: str, said: str) -> None:
        lines = cli("stats", "--since", since).out.splitlines()
        assert lines[0].startswith(said)
        assert lines[1] == "Enqueued: 7"

    @pytest.mark.parametrize("since", ["soon", "-1h", "0", ""])
    def test_what_is_no_time_is_refused(self, cli: Cli, since: str) -> None:
        result = cli("stats", f"--since={since}")
        assert (result.code, result.out) == (2, "")
        assert "--since" in result.err
        assert "hint: " in result.err
