"""hold, release, edit, move: what people do to jobs that wait."""

from __future__ import annotations

import json

import pytest
from tests.support.cli import Cli
from tests.support.fake_worker import FakeWorker

from queuectl.editing import EDITABLE
from queuectl.queue import Queue


def states(queue: Queue) -> dict[str, str]:
    return {job.id: job.state for job in queue.list()}


class TestHoldAndRelease:
    @pytest.mark.parametrize("back", ["release", "unhold"])
    def test_by_id(self, cli: Cli, queue: Queue, back: str) -> None:
        queue.enqueue("true", id="a")
        assert cli("hold", "a").code == 0
        assert (queue.get("a").state, queue.get("a").held) == ("blocked", 1)
        assert cli("hold", "a").code == 0, "once more does no harm"
        assert "Held:" in cli("show", "a").out
        assert cli(back, "a").code == 0
        assert states(queue) == {"a": "pending"}
        assert "Held:" not in cli("show", "a").out

    def test_by_a_filter_counts_only_what_it_would_change(self, cli: Cli, queue: Queue) -> None:
        for id in "abc":
            queue.enqueue("true", id=id, queue="mail")
        queue.enqueue("true", id="other")
        cli("hold", "a")
        assert cli("hold", "--queue", "mail", "--dry-run", "--json").json()["ids"] == ["b", "c"]
        assert cli("hold", "--queue", "mail").code == 4, "many are not held without a yes"
        assert cli("hold", "--queue", "mail", "--yes").code == 0
        assert states(queue) == {**dict.fromkeys("abc", "blocked"), "other": "pending"}
        assert cli("release", "--all", "--dry-run", "--json").json()["ids"] == ["a", "b", "c"]
        assert cli("release", "a", "other", "--dry-run", "--json").json()["ids"] == ["a"]
        released = cli("release", "--queue", "mail", "--yes", "--json").json()
        assert [(job["id"], job["state"]) for job in released] == [(id, "pending") for id in "abc"]
        assert cli("release", "--all", "--json").json() == []

    def test_json_says_that_a_job_is_held(self, cli: Cli, queue: Queue) -> None:
        queue.enqueue("true", id="a")
        document = cli("hold", "a", "--json").json()
        assert (document["state"], document["held"]) == ("blocked", True)
        assert "held" not in cli("release", "a", "--json").json()

    def test_of_the_wrong_jobs_is_refused(self, cli: Cli, queue: Queue, jobs_in_every_state: None) -> None:
        assert cli.failure("hold", "running") == (4, "refused")
        ended = cli("hold", "done", "broken", "nobody", "waiting")
        assert (ended.code, len(ended.out.splitlines()), len(ended.err.splitlines())) == (4, 1, 3)
        assert [job.id for job in queue.list() if job.held] == ["waiting"]
        assert cli.failure("release", "later") == (4, "refused")

    def test_a_held_job_can_be_cancelled_and_deleted(self, cli: Cli, queue: Queue) -> None:
        queue.enqueue_many([{"command": "true", "id": id} for id in "ab"])
        cli("hold", "a", "b")
        assert cli("cancel", "a").code == cli("rm", "b").code == 0
        assert states(queue) == {"a": "cancelled"}


MISTAKES: list[tuple[str, ...]] = [
    ("--priority", "x"),
    ("--timeout", "0"),
    ("--queue", "a b"),
    ("--command", "  "),
    ("--at", "soon"),
    ("--at", "now", "--delay", "1h"),
    ("--env", "QUEUECTL_X=1"),
    ("--no-retry-on", "7"),
    ("--clear", "command"),
    ("--clear", "timeout", "--timeout", "1s"),
    ("b", "--command", "true"),
    ("--command", "true", "--", "true"),
]


class TestEdit:
    def test_changes_what_is_named_and_nothing_else(self, cli: Cli, queue: Queue) -> None:
        queue.enqueue("true", id="a", tags=["x"], timeout="5s", env={"A": "1", "B": "2"}, nice=3)
        result = cli(
            *("edit", "a", "--command", "echo hi", "-p", "5", "--queue", "mail", "--max-retries", "9"),
            *("--tag", "y", "--tag", "z", "--env", "B=3", "--cwd", "/srv", "--memory", "512M"),
        )
        assert (result.code, result.err) == (0, "")
        job = queue.get("a")
        assert (job.command, job.argv, job.priority, job.queue) == ("echo hi", None, 5, "mail")
        assert (job.max_retries, job.tag_list(), job.cwd) == (9, ["y", "z"], "/srv")
        assert job.environment() == {"A": "1", "B": "3"}
        assert (job.rule("nice"), job.rule("memory")) == (3, 512 * 1024 * 1024)
        assert (job.timeout, job.state) == (5_000, "pending")

    def test_takes_away_what_a_job_need_not_have(self, cli: Cli, queue: Queue) -> None:
        queue.enqueue("true", id="a", tags=["x"], timeout="5s", env={"A": "1"}, nice=3, cpu_time="90s")
        assert cli("edit", "a", "--clear", "timeout,tag,env", "--clear", "nice").code == 0
        job = queue.get("a")
        assert (job.timeout, job.tags, job.env) == (None, None, None)
        assert json.loads(job.rules or "") == {"cpu_time": 90_000}
        cli("edit", "a", "--clear", "cpu-time")
        assert queue.get("a").rules is None

    def test_the_command_as_words_runs_without_a_shell(self, cli: Cli, queue: Queue) -> None:
        queue.enqueue("true", id="a")
        assert cli("edit", "a", "-p", "1", "--", "echo", "--json", "a b").code == 0
        job = queue.get("a")
        assert (job.argv, job.command) == ('["echo", "--json", "a b"]', "echo --json 'a b'")
        assert cli("edit", "a", "--", "echo again").code == 0
        assert (queue.get("a").argv, queue.get("a").command) == (None, "echo again")

    def test_a_new_time_is_echoed_and_moves_the_job(self, cli: Cli, queue: Queue) -> None:
        queue.enqueue("true", id="a")
        result = cli("edit", "a", "--at", "+2h")
        assert result.err.startswith("runs ")
        assert "(in 2h)" in result.err
        assert states(queue) == {"a": "scheduled"}
        cli("edit", "a", "--delay", "3h")
        assert states(queue) == {"a": "scheduled"}
        cli("edit", "a", "--at", "now")
        assert states(queue) == {"a": "pending"}

    def test_by_a_filter(self, cli: Cli, queue: Queue, jobs_in_every_state: None) -> None:
        words = ("edit", "--in-queue", "default", "--priority", "3")
        assert cli(*words, "--dry-run", "--json").json()["ids"] == ["flaky", "later"]
        assert cli(*words).code == 4
        assert cli(*words, "--yes").code == 0
        assert {job.id: job.priority for job in queue.list() if job.priority} == {
            "flaky": 3,
            "later": 3,
            "waiting": 7,
        }
        assert [job["id"] for job in cli("edit", "--with-tag", "night", "-p", "1", "--json").json()] == [
            "waiting"
        ]
        assert states(queue)["flaky"] == "failed"

    def test_json_is_the_changed_job(self, cli: Cli, queue: Queue) -> None:
        queue.enqueue("true", id="a")
        assert cli("edit", "a", "--priority", "4", "--json").json()["priority"] == 4

    def test_without_a_change_says_what_can_be_changed(self, cli: Cli, queue: Queue) -> None:
        queue.enqueue("true", id="a")
        result = cli("edit", "a")
        assert result.code == 2
        assert "nothing to change" in result.err
        assert "--at, --delay, --max-retries" in result.err
        assert not any(name in result.err for name in EDITABLE if "_" in name)

    def test_none_removes_what_a_job_need_not_have(self, cli: Cli, queue: Queue) -> None:
        limits = {"timeout": "10m", "memory": "1G", "nice": 5, "retry_on": "7", "needs": "gpu=1"}
        queue.enqueue("true", id="a", backoff_base=3, **limits)
        for field in (*limits, "backoff_base"):
            assert cli("edit", "a", f"--{field.replace('_', '-')}", "none").code == 0, field
        job = queue.get("a")
        assert (job.timeout, job.rules, job.needs, job.backoff_base) == (None,) * 4

    def test_none_removes_a_timeout_in_percent(self, cli: Cli, queue: Queue) -> None:
        queue.enqueue("true", id="a", timeout="300%")
        assert cli("edit", "a", "--timeout", "none", "--clear", "timeout").code == 0
        assert queue.get("a").rules is None

    def test_a_tag_may_be_called_none(self, cli: Cli, queue: Queue) -> None:
        queue.enqueue("true", id="a", tags=["b"])
        assert cli("edit", "a", "--tag", "none").code == 0
        assert queue.get("a").tag_list() == ["none"]

    def test_a_time_in_the_past_is_told_as_such(self, cli: Cli, queue: Queue) -> None:
        queue.enqueue("true", id="a")
        past = ("--at", "2020-01-01 09:00")
        for words in (("edit", "a", *past), ("enqueue", *past, "true")):
            err = cli(*words).err
            assert "runs at once: Wed 2020-01-01 09:00" in err
            assert "ago) is past" in err

    def test_refuses_what_enqueue_would_refuse(self, cli: Cli, queue: Queue) -> None:
        queue.enqueue("true", id="a", retry_on="7")
        before = queue.get("a").to_dict()
        for words in MISTAKES:
            assert cli.failure("edit", "a", *words) == (2, "invalid_input"), words
        assert queue.get("a").to_dict() == before

    def test_of_the_wrong_jobs_is_refused(self, cli: Cli, queue: Queue, jobs_in_every_state: None) -> None:
        for id in ("running", "done", "broken"):
            assert cli.failure("edit", id, "--priority", "3") == (4, "refused")
        assert cli("edit", "nobody", "--priority", "3").code == 1
        assert cli("edit", "--state", "dead", "--priority", "3").code == 4
        assert queue.get("done").priority == 0


class TestMove:
    @pytest.mark.parametrize("name", ["move", "mv"])
    def test_by_id(self, cli: Cli, queue: Queue, name: str) -> None:
        queue.enqueue_many([{"command": "true", "id": id} for id in "ab"])
        assert cli(name, "a", "b", "--to", "slow").code == 0
        assert {job.queue for job in queue.list()} == {"slow"}

    def test_by_a_filter(self, cli: Cli, queue: Queue, fake_worker: FakeWorker) -> None:
        queue.enqueue_many([{"command": "true", "id": id, "queue": "mail"} for id in "abc"])
        fake_worker.claim("a")
        words = ("move", "--queue", "mail", "--to", "bulk")
        assert cli(*words, "--dry-run", "--json").json()["ids"] == ["b", "c"]
        assert cli(*words, "--yes").code == 0
        assert {job.id: job.queue for job in queue.list()} == {"a": "mail", "b": "bulk", "c": "bulk"}
        assert cli("move", "a", "--to", "bulk").code == 4

    def test_wants_to_know_where_to(self, cli: Cli, queue: Queue) -> None:
        queue.enqueue("true", id="a")
        assert cli("move", "a").code == 2
        assert cli("move", "--to", "slow").code == 2
        assert cli.failure("move", "a", "--to", "../x") == (2, "invalid_input")

    def test_a_queue_that_drains_takes_none(self, cli: Cli, queue: Queue) -> None:
        queue.enqueue("true", id="a")
        queue.store.queues().drain("full", queue.clock.now())
        assert cli.failure("move", "a", "--to", "full") == (4, "refused")
        assert queue.get("a").queue == "default"
