"""logs: what attempts printed, stored or live, and following a job until it has ended."""

from __future__ import annotations

import os
import threading

import pytest
from tests.support.cli import Cli, Start, Terminal
from tests.support.fake_worker import FakeWorker, LiveFile, err, out

from queuectl.core.chunks import GAP, STDOUT, Chunk, pack
from queuectl.core.outcome import FAILED, LOST, SUCCEEDED, UNSTARTED
from queuectl.errors import NotFound
from queuectl.logfiles import log_name, tail_name
from queuectl.outputs import follow
from queuectl.queue import Queue
from queuectl.testing import wait_until

EVIL = b"\x1b]0;pwned\x07\r\n\xff\x9b ok\r\x1b[2J\xe2\x80\xae\n"


def finished(queue: Queue, fake_worker: FakeWorker, output: bytes | None, id: str = "job") -> None:
    queue.enqueue("true", id=id)
    fake_worker.complete(id, output=output)


class TestStored:
    def test_goes_to_the_stream_it_came_from(self, cli: Cli, queue: Queue, fake_worker: FakeWorker) -> None:
        finished(queue, fake_worker, out(b"one\n") + err(b"oops\n") + out(b"two\n"))
        result = cli("logs", "job")
        assert (result.code, result.out, result.err) == (0, "one\ntwo\n", "oops\n")

    def test_one_selected_stream_goes_to_stdout(
        self, cli: Cli, queue: Queue, fake_worker: FakeWorker
    ) -> None:
        finished(queue, fake_worker, out(b"one\n") + err(b"oops\n"))
        assert (cli("logs", "job", "--stderr").out, cli("logs", "job", "--stderr").err) == (
            "oops\n",
            "",
        )
        assert cli("logs", "job", "--stdout").out == "one\n"

    def test_is_in_a_pipe_byte_for_byte_what_it_was(
        self, cli: Cli, queue: Queue, fake_worker: FakeWorker
    ) -> None:
        finished(queue, fake_worker, out(EVIL[:3]) + out(EVIL[3:]))
        assert cli("logs", "job").raw == EVIL

    def test_cannot_steer_a_terminal(self, terminal: Terminal, queue: Queue, fake_worker: FakeWorker) -> None:
        finished(queue, fake_worker, out(EVIL[:-2]) + err(EVIL) + out(EVIL[-2:]))
        raw = terminal("logs", "job").raw
        assert b"\\x1b]0;pwned\\x07\r\n\\xff\\x9b ok\\x0d\\x1b[2J\\u202e\r\n" in raw
        assert not any(byte in raw for byte in (b"\x1b", b"\x07", b"\x9b", b"\xe2\x80\xae"))
        assert EVIL.replace(b"\n", b"\r\n") in terminal("logs", "job", "--raw", "--stderr").raw

    def test_keeps_characters_that_were_read_in_two_pieces(
        self, terminal: Terminal, queue: Queue, fake_worker: FakeWorker
    ) -> None:
        finished(queue, fake_worker, out("grü".encode()[:-1]) + out("ü".encode()[1:] + b"n\n"))
        assert "grün" in terminal("logs", "job").out

    @pytest.mark.parametrize(
        ("count", "expected"),
        [("1", "five\n"), ("2", "four\nfive\n"), ("3", "three\nfour\nfive\n"), ("0", "")],
    )
    def test_tail(self, cli: Cli, queue: Queue, fake_worker: FakeWorker, count: str, expected: str) -> None:
        finished(queue, fake_worker, out(b"one\ntwo\nthr") + out(b"ee\nfour\nfi") + out(b"ve\n"))
        assert cli("logs", "job", "--tail", count).out == expected
        assert cli("logs", "job", "--tail", "99").out == "one\ntwo\nthree\nfour\nfive\n"

    def test_timestamps_stand_before_each_line(self, cli: Cli, queue: Queue, fake_worker: FakeWorker) -> None:
        finished(queue, fake_worker, out(b"one\ntw") + out(b"o\n", at=1500))
        lines = cli("logs", "job", "--timestamps").out.splitlines()
        assert [line.split(" ", 1)[1] for line in lines] == ["one", "two"]
        assert lines[0].split("Z ")[0] == cli("show", "job", "--json").json()["started_at"][:-1]

    def test_of_an_attempt(self, cli: Cli, queue: Queue, fake_worker: FakeWorker) -> None:
        queue.enqueue("true", id="job")
        fake_worker.fail("job", output=out(b"first\n"))
        fake_worker.fail("job", output=out(b"second\n"))
        fake_worker.fail("job")
        assert cli("logs", "job").out == "second\n"
        assert cli("logs", "job", "--attempt", "1").out == "first\n"
        silent = cli("logs", "job", "--attempt", "3")
        assert (silent.code, silent.out) == (0, "")
        assert "printed nothing" in silent.err
        unknown = cli("logs", "job", "--attempt", "9")
        assert unknown.code == 1
        assert "it has 1, 2, 3" in unknown.err

    def test_as_json(self, cli: Cli, queue: Queue, fake_worker: FakeWorker) -> None:
        finished(queue, fake_worker, out(b"a\xff") + err(b"b\n"))
        assert cli("logs", "job", "--json").json() == {
            "id": "job",
            "command": "true",
            "state": "completed",
            "exit_code": 0,
            "attempt": 1,
            "stdout": "a\ufffd",
            "stderr": "b\n",
        }

    def test_of_a_job_that_has_not_run(self, cli: Cli, queue: Queue) -> None:
        queue.enqueue("true", id="job")
        result = cli("logs", "job")
        assert (result.code, result.out) == (0, "")
        assert "has not run yet (pending)" in result.err
        assert cli("logs", "job", "--json").json()["attempt"] is None
        assert cli("logs", "nobody").code == 1

    def test_of_long_output_names_what_was_left_out(
        self, cli: Cli, queue: Queue, fake_worker: FakeWorker
    ) -> None:
        queue.enqueue("true", id="job")
        job = fake_worker.claim("job")
        head = fake_worker.live_file(job)
        head.write(out(b"head\n"))
        LiveFile(tail_name(head.path, 4)).write(out(b"tail\n"))
        name = log_name(job.seq, job.runs)
        fake_worker.end(job, SUCCEEDED, log=name, output_bytes=90, output_dropped=1234)
        result = cli("logs", "job")
        assert result.out == "head\ntail\n"
        assert result.err == "[… 1,234 bytes left out …]\n"

    def test_says_where_its_file_should_be(self, cli: Cli, queue: Queue, fake_worker: FakeWorker) -> None:
        queue.enqueue("true", id="job")
        job = fake_worker.claim("job")
        fake_worker.end(job, SUCCEEDED, log=log_name(job.seq, job.runs), output_bytes=90)
        assert f"is on {fake_worker.host}" in cli("logs", "job").err

    def test_of_a_lost_attempt_is_what_its_file_has(
        self, cli: Cli, queue: Queue, fake_worker: FakeWorker
    ) -> None:
        queue.enqueue("true", id="job", max_retries=0)
        job = fake_worker.claim("job")
        fake_worker.live_file(job).write(out(b"last words\n"))
        fake_worker.end(job, LOST, error="its worker died")
        assert cli("logs", "job").out == "last words\n"

    def test_of_a_running_job_is_what_it_has_printed_so_far(
        self, cli: Cli, queue: Queue, fake_worker: FakeWorker
    ) -> None:
        queue.enqueue("true", id="job")
        job = fake_worker.claim("job")
        assert "printed nothing yet" in cli("logs", "job").err
        fake_worker.live_file(job).write(out(b"so far\n") + out(b"half a piece")[:-3])
        assert cli("logs", "job").out == "so far\n"


class Recorder:
    """Follows a job in a thread and keeps what it hears."""

    def __init__(self, id: str) -> None:
        self.chunks: list[Chunk] = []
        self.runs: list[int] = []
        self.state = ""
        self._thread = threading.Thread(target=self._follow, args=(id,), daemon=True)
        self._thread.start()

    def _follow(self, id: str) -> None:
        with Queue.open() as queue:
            self.state = follow(queue, id, write=self.chunks.append, begin=self._begin).state

    def _begin(self, run: int, _started_at: int | None) -> None:
        self.runs.append(run)

    @property
    def text(self) -> bytes:
        return b"".join(chunk.data for chunk in self.chunks if chunk.stream != GAP)

    def wait_for(self, text: bytes) -> None:
        wait_until(lambda: self.text == text, what=f"{text!r}")

    def join(self) -> None:
        self._thread.join(20)
        assert not self._thread.is_alive()


class TestFollow:
    def test_does_not_repeat_what_the_live_file_had(self, queue: Queue, fake_worker: FakeWorker) -> None:
        queue.enqueue("true", id="job")
        job = fake_worker.claim("job")
        file = fake_worker.live_file(job)
        recorder = Recorder("job")
        file.write(out(b"one\n"))
        recorder.wait_for(b"one\n")
        file.write(err(b"two\n"))
        recorder.wait_for(b"one\ntwo\n")
        # The worker discards the file and stores all of it, with what came last.
        file.delete()
        whole = out(b"one\n") + err(b"two\n") + out(b"three\n")
        fake_worker.end(job, SUCCEEDED, exit_code=0, output=whole)
        recorder.join()
        assert recorder.text == b"one\ntwo\nthree\n"
        assert (recorder.state, recorder.runs) == ("completed", [1])

    def test_goes_on_over_retries(self, queue: Queue, fake_worker: FakeWorker) -> None:
        queue.enqueue("true", id="job", max_retries=2)
        recorder = Recorder("job")
        job = fake_worker.claim("job")
        fake_worker.end(job, FAILED, exit_code=1, output=out(b"first\n"))
        recorder.wait_for(b"first\n")
        job = fake_worker.claim("job")
        fake_worker.live_file(job).write(out(b"sec"))
        recorder.wait_for(b"first\nsec")
        fake_worker.end(job, FAILED, exit_code=1, output=out(b"sec") + out(b"ond\n"))
        fake_worker.fail("job", output=out(b"third\n"))
        recorder.join()
        assert recorder.text == b"first\nsecond\nthird\n"
        assert (recorder.state, recorder.runs) == ("dead", [1, 2, 3])

    def test_reads_a_long_log_to_its_end(self, queue: Queue, fake_worker: FakeWorker) -> None:
        queue.enqueue("true", id="job")
        job = fake_worker.claim("job")
        file = fake_worker.live_file(job)
        recorder = Recorder("job")
        file.write(out(b"a" * 100))
        recorder.wait_for(b"a" * 100)
        file.write(out(b"b" * 100))
        LiveFile(tail_name(file.path, 1)).write(out(b"c" * 100))
        fake_worker.end(job, SUCCEEDED, log=log_name(job.seq, 1), output_dropped=7, output_bytes=300)
        recorder.join()
        assert recorder.text == b"a" * 100 + b"b" * 100 + b"c" * 100
        assert [chunk.data for chunk in recorder.chunks if chunk.stream == GAP] == [b"7"]

    def test_begins_anew_when_a_claim_was_given_back(self, queue: Queue, fake_worker: FakeWorker) -> None:
        queue.enqueue("true", id="job")
        job = fake_worker.claim("job")
        recorder = Recorder("job")
        wait_until(lambda: recorder.runs == [1], what="the first claim")
        fake_worker.end(job, UNSTARTED)
        job = fake_worker.claim("job")
        wait_until(lambda: recorder.runs == [1, 1], what="the second claim")
        fake_worker.end(job, SUCCEEDED, output=out(b"done\n"))
        recorder.join()
        assert recorder.text == b"done\n"

    def test_hears_every_byte_of_a_fast_writer_once(self, queue: Queue, fake_worker: FakeWorker) -> None:
        queue.enqueue("true", id="job")
        job = fake_worker.claim("job")
        recorder = Recorder("job")
        file = fake_worker.live_file(job)
        whole = b""
        for number in range(3_000):
            piece = pack(STDOUT, number, b"%d\n" % number)
            # In two writes: a reader may see the first alone.
            file.write(piece[:7])
            file.write(piece[7:])
            whole += piece
        os.unlink(file.path)
        fake_worker.end(job, SUCCEEDED, output=whole)
        recorder.join()
        assert recorder.text == b"".join(b"%d\n" % number for number in range(3_000))


class TestFollowCommand:
    def test_shows_output_while_it_comes_and_ends_with_the_job(
        self, start: Start, queue: Queue, fake_worker: FakeWorker
    ) -> None:
        queue.enqueue("true", id="job")
        process = start("logs", "-f", "job")
        assert process.stdout is not None
        job = fake_worker.claim("job")
        fake_worker.live_file(job).write(out(b"one\n"))
        assert process.stdout.readline() == b"one\n"
        fake_worker.end(job, SUCCEEDED, output=out(b"one\n") + out(b"two\n"))
        printed, told = process.communicate(timeout=30)
        assert (process.returncode, printed) == (0, b"two\n")
        assert b"==> job job, attempt 1 <==" in told
        assert b"==> job job is completed <==" in told

    def test_of_a_job_that_has_ended_shows_its_last_attempt(
        self, cli: Cli, queue: Queue, fake_worker: FakeWorker
    ) -> None:
        queue.enqueue("true", id="job", max_retries=1)
        fake_worker.fail("job", output=out(b"first\n"))
        fake_worker.fail("job", error="exit code 9: \x1b[2J", output=out(b"1\n2\n3\n"))
        result = cli("logs", "-f", "job")
        assert result.out == "1\n2\n3\n"
        assert "is dead: exit code 9: \\x1b[2J <==" in result.err
        assert cli("logs", "-f", "job", "--tail", "1").out == "3\n"
        assert cli("logs", "-f", "job", "--attempt", "1").out == "first\n1\n2\n3\n"

    def test_and_json_do_not_go_together(self, cli: Cli, queue: Queue) -> None:
        queue.enqueue("true", id="job")
        assert cli("logs", "-f", "--json", "job").code == 2


class TestOfSeveral:
    @pytest.fixture(autouse=True)
    def printed(self, queue: Queue, fake_worker: FakeWorker) -> None:
        for n, text in enumerate((b"one\n", b"two\n", None), start=1):
            queue.enqueue(f"./run {n}", id=f"job{n}", tags=["sweep"])
            fake_worker.complete(f"job{n}", output=text and out(text) + err(b"warm\n"))
        queue.enqueue("./run 4", id="job4", tags=["sweep"])
        queue.enqueue("./other", id="other")
        fake_worker.complete("other", output=out(b"other\n"))

    def test_in_a_pipe_there_is_nothing_but_their_output(self, cli: Cli) -> None:
        result = cli("logs", "--tag", "sweep", "--stdout")
        assert (result.code, result.out, result.err) == (0, "one\ntwo\n", "")
        assert cli("logs", "--state", "completed", "--search", "./run", "--stderr").out == "warm\nwarm\n"

    def test_by_ids_in_the_order_in_which_they_are_named(self, cli: Cli) -> None:
        assert cli("logs", "job2", "job1", "--stdout").out == "two\none\n"
        assert cli("logs", "-", "--stdout", stdin="job2\nother\n").out == "two\nother\n"
        assert cli("logs", "all", "--stdout").out == "one\ntwo\nother\n"

    def test_on_a_terminal_each_has_a_heading(self, terminal: Terminal, queue: Queue) -> None:
        shown = terminal("logs", "--tag", "sweep").out
        assert "==> job job1 (completed): ./run 1 <==" in shown
        assert "attempt 1 of job job3 printed nothing there (succeeded)" in shown
        assert "job job4 has not run yet (pending)" in shown
        queue.enqueue("queuectl status", id="own", tags=["own"])
        shown = terminal("logs", "--tag", "own", "--db", str(queue.store.location.url), width=200).out
        assert "==> job own (pending): queuectl status <==" in shown  # a quotation, not a hint of ours

    def test_one_that_is_not_there_does_not_stop_the_others(self, cli: Cli) -> None:
        result = cli("logs", "job1", "nobody", "job2", "--stdout")
        assert (result.code, result.out) == (1, "one\ntwo\n")
        assert "there is no job 'nobody'" in result.err
        result = cli("logs", "--tag", "sweep", "--attempt", "1", "--json")
        assert result.code == 1
        assert [one["id"] for one in result.json()] == ["job1", "job2", "job3"]
        assert "job job4 has no attempt 1" in result.err

    def test_as_json_it_is_an_array(self, cli: Cli) -> None:
        found = cli("logs", "--tag", "sweep", "--json").json()
        assert [(one["command"], one["stdout"], one["attempt"]) for one in found[1:]] == [
            ("./run 2", "two\n", 1),
            ("./run 3", "", 1),
            ("./run 4", "", None),
        ]
        assert cli("logs", "--tag", "nothing", "--json").json() == []
        assert cli("logs", "--tag", "nothing").err == "no jobs match\n"

    def test_a_file_that_cannot_be_read_is_told_in_a_pipe_too(
        self, cli: Cli, queue: Queue, fake_worker: FakeWorker
    ) -> None:
        job = fake_worker.claim("job4")
        fake_worker.end(job, SUCCEEDED, log=log_name(job.seq, job.runs), output_bytes=90)
        assert f"is on {fake_worker.host}" in cli("logs", "--tag", "sweep", "--stdout").err


class TestFromPython:
    def test_output_is_that_of_the_last_attempt_that_printed(
        self, queue: Queue, fake_worker: FakeWorker
    ) -> None:
        queue.enqueue("true", id="job")
        assert queue.output("job").attempt is None
        fake_worker.fail("job", output=out(b"first\n"))
        fake_worker.fail("job", output=out(b"caf\xe9\n") + err(b"oops\n"))
        fake_worker.fail("job")
        output = queue.output("job")
        assert (output.attempt, output.stdout, output.stderr) == (2, b"caf\xe9\n", b"oops\n")
        assert output.text == "caf\ufffd\n"
        assert queue.output("job", attempt=1).text == "first\n"
        with pytest.raises(NotFound, match="has no attempt 9"):
            queue.output("job", attempt=9)
