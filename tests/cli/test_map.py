"""map: one durable job for each input, like GNU parallel."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.cli import Cli
from tests.support.fake_worker import FakeWorker
from tests.support.home import Home

from queuectl.queue import JobFilter, Queue
from queuectl.testing import wait_until


def commands(queue: Queue) -> list[str]:
    return [job.command for job in queue.list()]


def by_input(queue: Queue) -> dict[str, str]:
    """The state of each job, by the last word of its command."""
    return {job.command.split()[-1]: job.state for job in queue.list()}


def test_they_are_stored_with_their_options_and_the_tag_of_the_map(cli: Cli, queue: Queue) -> None:
    words = ("--priority", "-5", "--timeout", "10s", "-t", "mine", "-j", "2", "--name", "m")
    result = cli("map", *words, "--", "echo", "{}", ":::", "a", "b")

    jobs = queue.list()
    assert result.code == 0
    assert [(job.argv, job.priority, job.timeout) for job in jobs] == [
        ('["echo", "a"]', -5, 10_000),
        ('["echo", "b"]', -5, 10_000),
    ]
    assert {(*job.tag_list(), job.job_group) for job in jobs} == {("mine", "map:m", "map:m")}


def test_without_a_name_one_is_made_that_finds_them(cli: Cli, queue: Queue, fake_worker: FakeWorker) -> None:
    result = cli("map", "--json", "true", ":::", "a", "a")

    said = result.json()
    assert said["ids"] == [job.id for job in queue.list(filter=JobFilter(tag=said["tag"]))]
    assert (said["inputs"], said["new"], len(said["ids"])) == (2, 2, 2)
    assert result.err == ""
    assert cli("map", "--resume", said["name"], "true", ":::", "a").code == 4
    assert cli("map", "--quiet", "true", ":::", "x").out == f"{queue.list()[-1].id}\n"


def test_a_bad_line_far_down_takes_all_with_it(cli: Cli, queue: Queue, work_dir: Path) -> None:
    Path("rows").write_text("a,b\n" * 3_000 + "c\n")

    result = cli("map", "-C", ",", "echo {2}", "::::", "rows")

    assert result.code == 2
    assert "input 3001 has 1 column" in result.err
    assert queue.list() == []


class TestResume:
    def test_adds_what_is_new_retries_what_is_dead_and_leaves_the_rest(
        self, cli: Cli, queue: Queue, fake_worker: FakeWorker
    ) -> None:
        assert cli("map", "--name", "m", "-r", "0", "run", ":::", "done", "dead", "gone", "waits").code == 0
        done, dead, gone, _ = [job.id for job in queue.list()]
        fake_worker.complete(done)
        fake_worker.fail(dead)
        queue.cancel(gone)

        said = cli(
            "map", "--resume", "m", "--json", "run", ":::", "done", "dead", "gone", "waits", "new"
        ).json()

        assert (said["inputs"], said["new"], said["retried"]) == (5, 1, 2)
        assert by_input(queue) == {
            "done": "completed",
            **dict.fromkeys(("dead", "gone", "waits", "new"), "pending"),
        }

    def test_of_a_map_that_never_was_begins_it(self, cli: Cli, queue: Queue) -> None:
        for added in (2, 0):
            assert cli("map", "--resume", "m", "--json", "run", ":::", "a", "b").json()["new"] == added
        assert commands(queue) == ["run a", "run b"]

    def test_a_name_is_given_once_and_each_input_counts_once(self, cli: Cli, queue: Queue) -> None:
        said = cli("map", "--name", "m", "--json", "run", ":::", "a", "b", "a").json()
        assert (said["inputs"], said["new"]) == (3, 2)

        assert cli.failure("map", "--name", "m", "run", ":::", "z") == (4, "refused")
        assert commands(queue) == ["run a", "run b"]


@pytest.fixture(params=["alone", "with workers"])
def place(request: pytest.FixtureRequest, home: Home) -> Home:
    """Who runs the jobs: this command itself, or workers in the background."""
    if request.param == "with workers":
        home.start(concurrency=3)
    return home


class TestWaiting:
    def test_prints_in_the_order_of_the_inputs_however_they_end(self, place: Home) -> None:
        """The first waits for the last, so they end the other way round."""
        before = "until test {1} = 3 || test -e done-$(({1}+1)); do sleep 0.05; done"
        command = before + "; echo {1}; echo e{1} >&2; : > done-{1}"
        result = place.q("map", "--print", "-j", "3", command, ":::", "1", "2", "3")

        assert (result.returncode, result.stdout) == (0, "1\n2\n3\n")
        errors = [line for line in result.stderr.splitlines() if line.startswith("e")]
        assert errors == ["e1", "e2", "e3"]

    def test_one_that_fails_makes_the_exit_code_and_json_has_all_of_them(self, home: Home) -> None:
        result = home.q("map", "--json", "--print", "-r", "0", "echo {}; exit {}", ":::", "0", "7")

        said = json.loads(result.stdout)
        assert result.returncode == 1
        assert [(each["state"], each["exit_code"], each["stdout"]) for each in said["results"]] == [
            ("completed", 0, "0\n"),
            ("dead", 7, "7\n"),
        ]
        assert (said["jobs"]["dead"], said["halted"]) == (1, False)

    @pytest.mark.parametrize(
        ("rule", "code", "ends"),
        [
            ("now,fail=1", 1, {"1": "dead", "60": "cancelled", "0": "cancelled"}),
            ("now,success=1", 0, {"1": "dead", "60": "cancelled", "0": "completed"}),
        ],
    )
    def test_a_rule_ends_the_rest_at_once(
        self, home: Home, rule: str, code: int, ends: dict[str, str]
    ) -> None:
        """The second runs for ever; the third may only start when the first has ended and is on its way."""
        jobs = "2" if "success" in rule else "1"
        first = ["1"] if jobs == "1" else ["1", "60"]
        rest = ["60", "0"] if jobs == "1" else ["0"]
        command = "test {} = 1 && exit 1; sleep {}"
        result = home.q("map", "-r", "0", "-j", jobs, "--wait", "--halt", rule, command, ":::", *first, *rest)

        assert result.returncode == code, result.stderr
        assert f"halting ({rule})" in result.stderr
        with home.queue() as queue:
            assert by_input(queue) == ends

    def test_soon_lets_run_what_runs(self, home: Home) -> None:
        """The second ends by itself, and only after others were cancelled."""
        home.start(concurrency=2)
        look = f"{sys.executable} -m queuectl list --state cancelled --quiet"
        see = f"until {look} | grep -q .; do sleep 0.1; done"
        # The first fails only while the second runs, or that one would be cancelled too.
        first = "test {} = 1 && { until test -e two; do sleep 0.1; done; exit 1; }"
        command = f"{first}; test {{}} = 2 && touch two; {see}; echo {{}}"
        words = (
            "-r",
            "0",
            "-j",
            "2",
            "--print",
            "--halt",
            "soon,fail=1",
            command,
            ":::",
            "1",
            "2",
            "3",
            "4",
            "5",
        )
        result = home.q("map", *words)

        with home.queue() as queue:
            ends = by_input(queue)
        assert result.returncode == 1
        assert ends["2"] == "completed"
        assert "cancelled" in ends.values()
        assert "2\n" in result.stdout

    def test_who_stops_waiting_leaves_the_jobs_to_others(self, home: Home) -> None:
        home.ok("init")
        words = ("map", "--name", "m", "-j", "1", "--wait", "sleep", ":::", "60", "61")
        with (
            home.queue() as queue,
            subprocess.Popen(
                [sys.executable, "-m", "queuectl", *words],
                env=home.env,
                cwd=home.work,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
            ) as process,
        ):
            assert process.stderr is not None
            try:
                wait_until(lambda: "processing" in by_input(queue).values(), what="the first job to run")
                process.send_signal(signal.SIGINT)
                assert any("Ctrl+C again" in line for line in process.stderr)
                process.send_signal(signal.SIGINT)
                assert process.wait(timeout=30) == 130
            finally:
                process.kill()
            assert "queuectl wait --tag map:m" in process.stderr.read()
            assert set(by_input(queue).values()) <= {"pending", "blocked"}
