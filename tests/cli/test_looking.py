"""list and show: what people see of jobs, in a pipe, on a terminal and as JSON."""

from __future__ import annotations

import pytest
from tests.support.cli import Cli, Terminal
from tests.support.fake_worker import FakeWorker, err, out

from queuectl.core.outcome import FAILED, SUCCEEDED
from queuectl.logfiles import log_name
from queuectl.queue import Queue

EVIL = "echo \x1b]0;pwned\x07 \u202e \x9b31m"
HEADER = ["ID", "STATE", "NO", "QUEUE", "PRIO", "ATTEMPTS", "AGE", "COMMAND"]


def rows(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


def ids(text: str) -> list[str]:
    return [row[0] for row in rows(text)[1:]]


class TestList:
    def test_says_that_there_are_none(self, cli: Cli, queue: Queue) -> None:
        result = cli("list")
        assert (result.code, result.out) == (0, "")

    def test_is_a_table_with_id_and_state_first(self, cli: Cli, jobs_in_every_state: None) -> None:
        table = rows(cli("list").out)
        assert table[0] == HEADER
        assert table[1][:6] == ["done", "completed", "1", "default", "0", "1/4"]
        assert table[7][:6] == ["waiting", "pending", "7", "mail", "7", "0/4"]

    @pytest.mark.parametrize(
        ("words", "expected"),
        [
            (["--state", "pending"], ["waiting"]),
            (["--state", "DEAD"], ["broken"]),
            (["--status", "canceled"], ["stopped"]),
            (["-s", "dead,failed"], ["broken", "flaky"]),
            (["-s", "dead", "-s", "failed"], ["broken", "flaky"]),
            (["--state", "running"], ["running"]),
            (["--queue", "mail"], ["waiting"]),
            (["--tag", "night"], ["waiting"]),
            (["--search", "STOPPED"], ["stopped"]),
            (["--search", "%"], []),
            (["--since", "1h", "--limit", "2"], ["done", "broken"]),
            (["--before", "1h"], []),
            (["--since", "2999-01-01"], []),
            (["--before", "2999-01-01", "--limit", "1"], ["done"]),
            (["--reverse", "--limit", "2"], ["waiting", "later"]),
            (["--sort", "priority", "--reverse", "--limit", "1"], ["waiting"]),
            (["--sort", "id", "--limit", "2"], ["broken", "done"]),
            (["--offset", "5"], ["later", "waiting"]),
            (["--after", "stopped"], ["later", "waiting"]),
            (["--after", "broken", "--reverse"], ["done"]),
        ],
    )
    def test_filters_sorts_and_pages(
        self, cli: Cli, jobs_in_every_state: None, words: list[str], expected: list[str]
    ) -> None:
        assert cli("list", "--quiet", *words).out.split() == expected

    @pytest.mark.parametrize(
        ("words", "code", "kind"),
        [
            (["--state", "asleep"], 2, "invalid_input"),
            (["--state", ""], 2, "invalid_input"),
            (["--limit", "0"], 2, "invalid_input"),
            (["--limit", "many"], 2, "invalid_input"),
            (["--offset", "-1"], 2, "invalid_input"),
            (["--since", "someday"], 2, "invalid_input"),
            (["--sort", "colour"], 2, "invalid_input"),
            (["--after", "nobody"], 1, "not_found"),
            (["--after", "done", "--sort", "id"], 2, "invalid_input"),
            (["--search", "\udcff"], 2, "invalid_input"),
        ],
    )
    def test_refuses_what_it_cannot_take(
        self, cli: Cli, jobs_in_every_state: None, words: list[str], code: int, kind: str
    ) -> None:
        assert cli.failure("list", *words) == (code, kind)

    def test_json_is_an_array_of_job_objects(self, cli: Cli, jobs_in_every_state: None) -> None:
        jobs = cli("list", "--json").json()
        assert [job["state"] for job in jobs][:3] == ["completed", "dead", "failed"]
        assert jobs[6]["tags"] == ["night"]
        assert cli("list", "--json", "--tag", "none").json() == []

    def test_gives_everything_in_a_pipe_page_by_page(self, cli: Cli, queue: Queue) -> None:
        made = queue.enqueue_many([f"echo {number}" for number in range(2_345)])
        assert ids(cli("ls").out) == made
        assert cli("ls", "--quiet", "--reverse").out.split() == made[::-1]
        assert [job["id"] for job in cli("ls", "--json", "--limit", "1500").json()] == made[:1500]

    def test_shows_a_screenful_on_a_terminal_and_how_to_go_on(self, terminal: Terminal, queue: Queue) -> None:
        made = queue.enqueue_many([f"echo {number}" for number in range(60)])
        shown = terminal("list", width=200).out
        assert f"50 of 60 jobs shown; see more with --after {made[49]} or --limit N" in shown
        assert "; the newest first: --reverse" in shown
        assert "--reverse" not in terminal("list", "--reverse", width=200).out
        assert made[49] in shown
        assert made[50] not in shown

    def test_cuts_commands_to_the_screen_but_never_in_a_pipe(
        self, terminal: Terminal, cli: Cli, queue: Queue
    ) -> None:
        queue.enqueue("echo " + "x" * 300, id="long")
        assert "x" * 300 in cli("list").out
        assert all(len(line) <= 120 for line in terminal("list", width=100).out.splitlines())

    def test_keeps_control_characters_from_the_terminal(
        self, terminal: Terminal, cli: Cli, queue: Queue
    ) -> None:
        queue.enqueue(EVIL + "\nnext line", id="evil")
        for text in (terminal("list", width=200).out, cli("list").out):
            assert "\\x1b]0;pwned\\x07 \\u202e \\x9b31m\\nnext line" in text
            assert not {"\x07", "\u202e", "\x9b"} & set(text)
            assert "\x1b]" not in text

    def test_has_colours_only_on_a_terminal(
        self, terminal: Terminal, cli: Cli, jobs_in_every_state: None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert "\x1b[31mdead" in terminal("list").out
        assert "\x1b" not in cli("list").out
        monkeypatch.setenv("NO_COLOR", "1")
        assert "\x1b" not in terminal("list").out


class TestShow:
    def test_tells_everything_and_every_attempt(self, cli: Cli, jobs_in_every_state: None) -> None:
        table, _, report = cli("show", "broken").out.partition("\n\nHow attempt 1 died:\n")
        header, attempt = table.splitlines()[-2:]
        assert report
        assert header.split()[:4] == ["ATTEMPT", "STARTED", "TOOK", "OUTCOME"]
        assert attempt.split()[0] == "1"
        assert "failed" in attempt

    def test_how_it_died_is_told_in_lines_of_whole_words(
        self, terminal: Terminal, jobs_in_every_state: None
    ) -> None:
        for command in ("show", "explain"):
            report = terminal(command, "broken", width=40).out.partition("How attempt 1 died:")[2]
            assert "  exit code 1: what most commands say\r\n    for any failure\r\n" in report

    def test_json_has_the_history(self, cli: Cli, jobs_in_every_state: None) -> None:
        job = cli("show", "flaky", "--json").json()
        assert job["id"] == "flaky"
        assert [(a["attempt"], a["outcome"]) for a in job["history"]] == [(1, "failed")]
        assert job["history"][0]["exit_code"] == 1
        assert job["history"][0]["report"]["cause"] == "exit_code"
        assert cli("show", "done", "--json").json()["history"][0]["report"] is None

    def test_gives_the_last_words_of_the_last_failure(
        self, cli: Cli, queue: Queue, fake_worker: FakeWorker
    ) -> None:
        queue.enqueue("true", id="talker", max_retries=1)
        words = b"".join(b"line %d\n" % number for number in range(9)) + b"\x1b[31mred\x1b[0m \x9b31m\n"
        fake_worker.fail("talker", output=err(b"of the first\n"))
        fake_worker.fail("talker", output=out(b"no word of it\n") + err(words))
        for command in (("show",), ("dlq", "show"), ("explain",)):
            report = cli(*command, "talker").out.partition("How attempt 2 died:\n")[2]
            last = report.partition("Its last words on stderr:\n")[2].splitlines()
            assert last == ["    line 5", "    line 6", "    line 7", "    line 8", "    red \\x9b31m"]
        history = cli("show", "talker", "--json").json()["history"]
        assert [one["report"]["stderr"][0] for one in history] == ["of the first", "line 5"]
        assert cli("explain", "talker", "--json").json()["report"]["attempt"] == 2

    def test_gives_the_last_words_of_a_long_log(
        self, cli: Cli, queue: Queue, fake_worker: FakeWorker
    ) -> None:
        queue.enqueue("true", id="long", max_retries=0)
        job = fake_worker.claim("long")
        fake_worker.live_file(job).write(
            out(b"x" * 100_000) + err(b"early\n", 1) + out(b"y\n") + err(b"late\n", 2)
        )
        fake_worker.end(job, FAILED, exit_code=3, error="exit code 3: late", log=log_name(job.seq, job.runs))
        assert cli("show", "long").out.endswith("Its last words on stderr:\n    early\n    late\n")

    def test_has_the_attempt_that_runs(
        self, cli: Cli, jobs_in_every_state: None, fake_worker: FakeWorker
    ) -> None:
        assert cli("info", "running").out.splitlines()[-1].split()[0] == "1"
        history = cli("get", "running", "--json").json()["history"]
        assert [(a["outcome"], a["finished_at"]) for a in history] == [("running", None)]

    def test_takes_several_ids(self, cli: Cli, jobs_in_every_state: None) -> None:
        assert [j["id"] for j in cli("show", "done", "later", "--json").json()] == ["done", "later"]
        result = cli("show", "done", "nobody", "later")
        assert result.code == 1
        assert "there is no job 'nobody'" in result.err
        assert "Id:        done" in result.out
        assert "Id:        later" in result.out

    @pytest.mark.parametrize("id", ["nobody", "", "../../etc", "\udcff", "a" * 500, "%", "'"])
    def test_of_an_unknown_job_is_not_found(self, cli: Cli, jobs_in_every_state: None, id: str) -> None:
        assert cli.failure("show", id) == (1, "not_found")

    def test_keeps_control_characters_and_secrets_to_itself(
        self, terminal: Terminal, cli: Cli, queue: Queue, fake_worker: FakeWorker
    ) -> None:
        queue.enqueue(EVIL, id="evil", env={"TOKEN": "hush"}, max_retries=0)
        fake_worker.fail("evil", error="exit code 1: \x1b[2J\x07")
        for text in (terminal("show", "evil", width=200).out, cli("show", "evil").out):
            assert "\x1b]" not in text
            assert "\x1b[2J" not in text
            assert "\x07" not in text
            assert "exit code 1: \\x1b[2J\\x07" in text
            assert "TOKEN" in text
            assert "hush" not in text


def test_worker_list_shows_what_runs_at_this_moment(cli: Cli, queue: Queue) -> None:
    """Its worker has had no heartbeat since."""
    fake_worker = FakeWorker(queue)
    queue.enqueue("echo a", id="a")
    assert cli("worker", "list", "--format", "{state} {running}").out == "idle 0\n"
    job = fake_worker.claim("a")
    assert cli("worker", "list", "--format", "{state} {running}").out == "busy 1\n"
    assert " 1/1 " in cli("worker", "list").out
    fake_worker.end(job, SUCCEEDED, exit_code=0)
    assert cli("worker", "list", "--json").json()[0]["running"] == 0
    fake_worker.leave()
