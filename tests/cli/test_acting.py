"""cancel, retry, rm, dlq, cleanup: what people do to jobs."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.cli import Cli, Start, Terminal
from tests.support.fake_worker import FakeWorker

from queuectl.core.outcome import FAILED, SUCCEEDED
from queuectl.queue import Queue
from queuectl.testing import wait_until


def states(queue: Queue) -> dict[str, str]:
    return {job.id: job.state for job in queue.list()}


def kill(queue: Queue, fake_worker: FakeWorker, *ids: str) -> None:
    for id in ids:
        queue.enqueue("false", id=id, max_retries=0)
        fake_worker.fail(id, error=f"exit code 1: {id}")


class TestCancel:
    def test_of_a_waiting_job(self, cli: Cli, queue: Queue) -> None:
        queue.enqueue("true", id="a")
        assert cli("cancel", "a").code == 0
        assert states(queue) == {"a": "cancelled"}

    def test_of_a_running_job_waits_for_its_end(
        self, start: Start, queue: Queue, fake_worker: FakeWorker
    ) -> None:
        queue.enqueue("true", id="a")
        job = fake_worker.claim("a")
        process = start("cancel", "a")
        wait_until(lambda: queue.get("a").cancel_requested, what="the request")
        assert process.poll() is None
        fake_worker.cancel(job)
        process.communicate(timeout=30)
        assert process.returncode == 0
        assert states(queue) == {"a": "cancelled"}

    def test_holds_also_if_the_attempt_failed_by_itself_meanwhile(
        self, start: Start, queue: Queue, fake_worker: FakeWorker
    ) -> None:
        queue.enqueue("true", id="a")
        job = fake_worker.claim("a")
        process = start("cancel", "a")
        wait_until(lambda: queue.get("a").cancel_requested, what="the request")
        fake_worker.end(job, FAILED, exit_code=1)
        process.communicate(timeout=30)
        assert process.returncode == 0
        assert states(queue) == {"a": "cancelled"}

    def test_tells_when_the_job_was_faster(self, start: Start, queue: Queue, fake_worker: FakeWorker) -> None:
        queue.enqueue("true", id="a")
        job = fake_worker.claim("a")
        process = start("cancel", "a")
        wait_until(lambda: queue.get("a").cancel_requested, what="the request")
        fake_worker.end(job, SUCCEEDED, exit_code=0)
        _, told = process.communicate(timeout=30)
        assert process.returncode == 4
        assert b"job a was completed before it could be stopped" in told

    def test_without_waiting(self, cli: Cli, queue: Queue, fake_worker: FakeWorker) -> None:
        queue.enqueue("true", id="a")
        fake_worker.claim("a")
        result = cli("cancel", "a", "--no-wait")
        assert result.code == 0
        assert queue.get("a").cancel_requested

    def test_says_when_the_worker_is_gone(self, cli: Cli, queue: Queue) -> None:
        queue.enqueue("true", id="a")
        FakeWorker(queue, alive=False).claim("a")
        result = cli("cancel", "a")
        assert result.code == 1
        assert "its worker seems gone" in result.err

    def test_of_an_ended_or_unknown_job_is_refused(
        self, cli: Cli, queue: Queue, fake_worker: FakeWorker
    ) -> None:
        kill(queue, fake_worker, "a")
        assert cli("cancel", "a").code == 4
        assert cli("cancel", "b").code == 1
        assert cli("cancel", "\udcff").code == 1

    def test_by_a_filter(self, cli: Cli, queue: Queue, fake_worker: FakeWorker) -> None:
        for id in "abc":
            queue.enqueue("true", id=id, queue="mail")
        queue.enqueue("true", id="other")
        assert cli("cancel", "--queue", "mail").code == 4
        assert cli("cancel", "--queue", "mail", "--yes").code == 0
        assert states(queue) == {**dict.fromkeys("abc", "cancelled"), "other": "pending"}
        assert cli("cancel", "--all").code == 0
        assert states(queue)["other"] == "cancelled"
        assert cli("cancel", "--all", "--json").json() == []


class TestTargets:
    """What all commands share that act on jobs."""

    def test_does_what_can_be_done_and_exits_with_the_worst(
        self, cli: Cli, queue: Queue, fake_worker: FakeWorker
    ) -> None:
        kill(queue, fake_worker, "a", "b")
        queue.enqueue("true", id="c")
        result = cli("retry", "a", "nobody", "c", "b", "a")
        assert result.code == 4
        assert [len(text.splitlines()) for text in (result.out, result.err)] == [2, 2]
        assert states(queue) == dict.fromkeys("abc", "pending")

    @pytest.mark.parametrize("command", ["cancel", "retry", "rm"])
    def test_wants_to_know_which_jobs(self, cli: Cli, queue: Queue, command: str) -> None:
        queue.enqueue("true", id="a")
        assert cli(command).code == 2
        assert cli(command, "a", "--all").code == 2
        assert cli(command, "a", "--tag", "x").code == 2
        assert states(queue) == {"a": "pending"}

    def test_refuses_a_filter_for_states_that_do_not_allow_it(self, cli: Cli) -> None:
        assert cli.failure("retry", "--state", "completed") == (4, "refused")

    def test_dry_run_changes_nothing(self, cli: Cli, queue: Queue) -> None:
        made = queue.enqueue_many(["true"] * 12)
        result = cli("rm", "--all", "--dry-run")
        assert result.out == f"would delete 12 jobs: {', '.join(made[:10])}, …\n"
        assert cli("cancel", made[0], "--dry-run").out == f"would cancel 1 job: {made[0]}\n"
        document = cli("rm", "--all", "--dry-run", "--json").json()
        assert (document["count"], document["ids"]) == (12, made[:10])
        assert set(states(queue).values()) == {"pending"}

    def test_asks_on_a_terminal(self, terminal: Terminal, queue: Queue) -> None:
        queue.enqueue_many(["true"] * 3)
        result = terminal("cancel", "--all", keys="n\n")
        assert "cancel 3 jobs? [y/N]" in result.out
        assert "nothing was changed" in result.out
        assert result.code == 1
        assert set(states(queue).values()) == {"pending"}
        assert "✓ 3 jobs cancelled" in terminal("cancel", "--all", keys="y\n").out

    def test_json_is_one_object_for_one_id_and_an_array_otherwise(
        self, cli: Cli, queue: Queue, fake_worker: FakeWorker
    ) -> None:
        kill(queue, fake_worker, "a", "b", "c", "d")
        assert cli("retry", "a", "--json").json()["state"] == "pending"
        assert [job["id"] for job in cli("retry", "b", "c", "--json").json()] == ["b", "c"]
        assert [job["id"] for job in cli("retry", "--all", "--json").json()] == ["d"]
        assert cli("retry", "--all", "--json").json() == []
        deleted = cli("rm", "--all", "--json", "--yes").json()
        assert [(job["id"], job["state"]) for job in deleted] == [(id, "pending") for id in "abcd"]

    def test_json_errors_are_objects_too(self, cli: Cli, queue: Queue) -> None:
        queue.enqueue("true", id="a")
        result = cli("cancel", "a", "nobody", "--json")
        assert [job["state"] for job in result.json()] == ["cancelled"]
        assert '"code": "not_found"' in result.err


class TestRetryAndRemove:
    def test_retry_gives_all_attempts_anew(self, cli: Cli, queue: Queue, fake_worker: FakeWorker) -> None:
        queue.enqueue("false", id="fail1", max_retries=1)
        fake_worker.kill("fail1")
        assert queue.get("fail1").attempts == 2
        assert cli("retry", "fail1").code == 0
        job = queue.get("fail1")
        assert (job.state, job.attempts, job.last_error) == ("pending", 0, None)
        assert len(queue.attempts(job)) == 2

    def test_retry_by_state(self, cli: Cli, queue: Queue, fake_worker: FakeWorker) -> None:
        kill(queue, fake_worker, "a", "b")
        queue.enqueue("true", id="c")
        queue.cancel("c")
        assert cli("retry", "--state", "dead", "--yes").code == 0
        assert states(queue) == {"a": "pending", "b": "pending", "c": "cancelled"}

    def test_rm_deletes_what_does_not_run(self, cli: Cli, queue: Queue, fake_worker: FakeWorker) -> None:
        queue.enqueue("true", id="a")
        queue.enqueue("true", id="b")
        fake_worker.claim("b")
        assert cli("rm", "a").code == 0
        assert cli.failure("rm", "b") == (4, "refused")
        assert cli("rm", "--all", "--yes").code == 0
        assert states(queue) == {"b": "processing"}

    def test_rm_takes_the_log_files_along(self, cli: Cli, queue: Queue, fake_worker: FakeWorker) -> None:
        queue.enqueue("true", id="a")
        job = fake_worker.claim("a")
        file = Path(fake_worker.live_file(job).path)
        file.write_bytes(b"")
        name = str(file.relative_to(queue.store.location.logs_dir))
        fake_worker.end(job, SUCCEEDED, log=name)
        assert cli("rm", "a").code == 0
        assert not file.exists()


class TestDeadLetters:
    def test_list_shows_attempts_error_and_command(
        self, cli: Cli, queue: Queue, fake_worker: FakeWorker
    ) -> None:
        assert cli("dlq", "--json").json() == []
        queue.enqueue("false", id="fail1", max_retries=3)
        queue.enqueue("true", id="fine")
        fake_worker.kill("fail1", error="exit code 1: " + "why " * 50)
        header, row = cli("dlq", "list").out.splitlines()
        assert header.split() == ["ID", "STATE", "ATTEMPTS", "LAST", "ERROR", "COMMAND"]
        assert row.split()[:3] == ["fail1", "dead", "4/4"]
        assert "why " * 49 in row
        assert row.endswith("false")
        assert [job["id"] for job in cli("dlq", "list", "--json").json()] == ["fail1"]
        assert cli("dlq", "--json").json()[0]["attempts"] == 4

    def test_show_is_for_dead_jobs(self, cli: Cli, queue: Queue, fake_worker: FakeWorker) -> None:
        kill(queue, fake_worker, "a")
        queue.enqueue("true", id="b")
        assert cli("dlq", "show", "a", "--json").json()["last_error"] == "exit code 1: a"
        assert cli("dlq", "show", "b").code == 4

    def test_retry(self, cli: Cli, queue: Queue, fake_worker: FakeWorker) -> None:
        kill(queue, fake_worker, "fail1", "a", "b")
        queue.enqueue("true", id="c")
        queue.cancel("c")
        assert cli("dlq", "retry", "fail1").code == 0
        assert cli("dlq", "retry", "fail1").code == 4
        assert cli("dlq", "retry", "c").code == 4
        assert cli("dlq", "retry", "nobody").code == 1
        assert cli("dlq", "retry").code == 2
        assert cli("dlq", "retry", "--all", "--yes").code == 0
        assert states(queue) == {**dict.fromkeys(("fail1", "a", "b"), "pending"), "c": "cancelled"}

    @pytest.mark.parametrize("word", ["purge", "clear", "delete"])
    def test_purge_deletes_dead_jobs_only(
        self, cli: Cli, queue: Queue, fake_worker: FakeWorker, word: str
    ) -> None:
        kill(queue, fake_worker, "a", "b", "c")
        queue.enqueue("true", id="d")
        assert cli("dlq", word, "a").code == 0
        assert set(states(queue)) == {"b", "c", "d"}
        assert cli("dlq", word, "d").code == 4
        assert cli("dlq", word).code == 4
        assert cli("dlq", word, "--yes").code == 0
        assert states(queue) == {"d": "pending"}


class TestCleanup:
    def test_deletes_completed_jobs(self, cli: Cli, queue: Queue, fake_worker: FakeWorker) -> None:
        for id in "ab":
            queue.enqueue("true", id=id)
            fake_worker.complete(id)
        kill(queue, fake_worker, "dead")
        queue.enqueue("true", id="waiting")
        assert cli("cleanup", "--dry-run", "--json").json()["would_delete"] == 2
        assert cli("cleanup", "--older-than", "1h").code == 0
        assert len(states(queue)) == 4
        assert cli("cleanup").code == 0
        assert states(queue) == {"dead": "dead", "waiting": "pending"}

    def test_deletes_other_ended_jobs_when_told(
        self, cli: Cli, queue: Queue, fake_worker: FakeWorker
    ) -> None:
        kill(queue, fake_worker, "dead")
        queue.enqueue("true", id="waiting")
        assert cli("cleanup", "--state", "all-finished", "--dry-run", "--json").json() == {
            "would_delete": 1,
            "states": {"completed": 0, "dead": 1, "cancelled": 0},
        }
        assert cli("cleanup", "--state", "dead,canceled").code == 0
        assert states(queue) == {"waiting": "pending"}

    @pytest.mark.parametrize("words", [["--state", "pending"], ["--state", "x"], ["--older-than", "ages"]])
    def test_refuses_jobs_that_have_not_ended(self, cli: Cli, words: list[str]) -> None:
        assert cli.failure("cleanup", *words) == (2, "invalid_input")
