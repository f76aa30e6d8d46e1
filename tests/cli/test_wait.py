"""wait: what it says to somebody who waits for nothing, or for what will not move; run and enqueue alike."""

from __future__ import annotations

import pytest
from tests.support.cli import Cli, Start
from tests.support.fake_worker import FakeWorker

from queuectl import queues
from queuectl.queue import Queue


@pytest.fixture
def jobs(queue: Queue, fake_worker: FakeWorker) -> None:
    queue.enqueue("true", id="a", tags=["known"])
    queue.enqueue("true", id="b", queue="mail")
    fake_worker.complete("a")


class TestForNothing:
    @pytest.mark.parametrize(
        ("words", "says"),
        [
            (("--tag", "nosuch"), "note: no job has the tag nosuch\n"),
            (("--queue", "mial"), "note: there is no queue 'mial'; did you mean mail?\n"),
            (("--search", "nosuch"), "note: there is no such job\n"),
            (("--queue", "mail", "--tag", "known"), ""),
        ],
    )
    def test_is_a_success_with_a_note_if_nobody_knows_the_name(
        self, cli: Cli, jobs: None, words: tuple[str, ...], says: str
    ) -> None:
        result = cli("wait", *words)
        assert (result.code, result.out, result.err) == (0, "✓ 0 jobs completed\n", says)

    def test_by_an_empty_stdin(self, cli: Cli, jobs: None) -> None:
        result = cli("wait", "-", stdin="")
        assert (result.code, result.err) == (0, "note: there is no id on stdin\n")

    def test_in_a_queue_that_is_only_empty_there_is_nothing_to_say(self, cli: Cli, queue: Queue) -> None:
        queues.configure(queue, "mail", concurrency=3)
        for name in ("mail", "default"):
            assert cli("wait", "--queue", name).err == ""

    def test_json_stays_one_document(self, cli: Cli, jobs: None) -> None:
        assert cli("wait", "--tag", "nosuch", "--json").json()["jobs"]["completed"] == 0


class TestForManyThatFail:
    def test_the_rest_can_be_seen_by_the_same_filter(
        self, cli: Cli, queue: Queue, fake_worker: FakeWorker
    ) -> None:
        for n in range(7):
            queue.enqueue("fal se", id=f"bad{n}", tags=["night"], max_retries=0)
            fake_worker.fail(f"bad{n}")
        last = cli("wait", "--tag", "night", "--search", "l se").err.splitlines()[-1]
        assert last == "  and 2 more: queuectl list --state dead,cancelled --tag night --search 'l se'"
        assert cli("wait", "--all").err.splitlines()[-1].endswith("queuectl list --state dead,cancelled")


class TestAPausedQueue:
    def test_is_told_with_what_ends_the_pause(self, cli: Cli, queue: Queue, jobs: None) -> None:
        queues.pause(queue, "mail")
        note = "queue mail is paused until somebody resumes it. Go on with it: queuectl queue resume mail\n"
        for words in (("b",), ("--all",), ("--queue", "mail")):
            result = cli("wait", *words, "--timeout", "10ms")
            assert (result.code, result.err.count(note)) == (124, 1), words

    def test_is_told_with_the_reason(self, cli: Cli, queue: Queue, jobs: None) -> None:
        queues.pause(queue, "mail", reason="server moves")
        assert "somebody resumes it (server moves). Go on" in cli("wait", "b", "--timeout", "10ms").err

    def test_is_told_in_one_line_whatever_the_reason(self, cli: Cli, queue: Queue, jobs: None) -> None:
        queues.pause(queue, "mail", reason="so it is\nerror: all is lost")
        assert "\nerror: " not in cli("wait", "b", "--timeout", "10ms").err

    def test_is_not_told_to_who_waits_for_others(self, cli: Cli, queue: Queue, jobs: None) -> None:
        queue.enqueue("true", id="c")
        queues.pause(queue, "mail")
        queues.pause(queue, "notifications")
        assert "paused" not in cli("wait", "c", "--timeout", "10ms").err
        assert "notifications" not in cli("wait", "--all", "--timeout", "10ms").err

    def test_is_told_by_run_too(self, start: Start, queue: Queue, jobs: None) -> None:
        queues.pause(queue, "mail")
        process = start("run", "--id", "r", "--queue", "mail", "true")
        assert process.stderr is not None
        assert b"note: queue mail is paused until somebody resumes it." in process.stderr.readline()
        queue.cancel("r")
        process.communicate(timeout=30)
        assert process.returncode != 0

    def test_is_told_on_a_terminal_when_a_job_comes_into_it(
        self, terminal: Cli, cli: Cli, queue: Queue, jobs: None
    ) -> None:
        queues.pause(queue, "mail")
        assert "queue mail is paused" in terminal("enqueue", "--queue", "mail", "true").out
        assert "paused" not in terminal("enqueue", "true").out
        assert "paused" not in cli("enqueue", "--queue", "mail", "true").err, "no statement more for a script"


class TestFormat:
    def test_is_a_line_for_each_job_when_all_have_ended(
        self, cli: Cli, queue: Queue, fake_worker: FakeWorker, jobs: None
    ) -> None:
        fake_worker.fail("b", error="exit code 1")
        queue.cancel("b")
        result = cli("wait", "--all", "--format", "{id} {state}")
        assert (result.code, result.out) == (1, "a completed\nb cancelled\n")
        assert cli("wait", "a", "--format", "{id}").out == "a\n"

    def test_is_checked_before_anybody_waits(self, cli: Cli, jobs: None) -> None:
        assert cli("wait", "b", "--format", "{ide}").code == 2
        assert cli("wait", "b", "--format", "{id}", "--json").code == 2
