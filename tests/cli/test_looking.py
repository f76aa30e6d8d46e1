"""list and show: what people see of jobs, in a pipe, on a terminal and as JSON."""

from __future__ import annotations

import pytest
from tests.cli.conftest import Cli, Terminal
from tests.cli.stagehand import Stagehand

from queuectl.queue import Queue

EVIL = "echo \x1b]0;pwned\x07 \u202e \x9b31m"
HEADER = ["ID", "STATE", "QUEUE", "PRIO", "ATTEMPTS", "AGE", "COMMAND"]


def rows(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


def ids(text: str) -> list[str]:
    return [row[0] for row in rows(text)[1:]]


class TestList:
    def test_says_that_there_are_none(self, cli: Cli) -> None:
        result = cli("list")
        assert (result.code, result.out, result.err) == (0, "", "no jobs\n")

    def test_is_a_table_with_id_and_state_first(self, cli: Cli, several: None) -> None:
        table = rows(cli("list").out)
        assert table[0] == HEADER
        assert table[1][:5] == ["done", "completed", "default", "0", "1/4"]
        assert table[7][:5] == ["waiting", "pending", "mail", "7", "0/4"]

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
        self, cli: Cli, several: None, words: list[str], expected: list[str]
    ) -> None:
        assert cli("list", "--quiet", *words).out.split() == expected

    @pytest.mark.parametrize(
        ("words", "code", "message"),
        [
            (["--state", "asleep"], 2, "the states are: pending, scheduled"),
            (["--state", ""], 2, "unknown state"),
            (["--limit", "0"], 2, "1 or more"),
            (["--limit", "many"], 2, "not a whole number"),
            (["--offset", "-1"], 2, "0 or more"),
            (["--since", "someday"], 2, "10m, 2h or 3d (ago)"),
            (["--sort", "colour"], 2, "choose from"),
            (["--after", "nobody"], 1, "there is no job 'nobody'"),
            (["--after", "done", "--sort", "id"], 2, "order of creation"),
            (["--search", "\udcff"], 2, "not valid UTF-8"),
        ],
    )
    def test_refuses_what_it_cannot_take(
        self, cli: Cli, several: None, words: list[str], code: int, message: str
    ) -> None:
        result = cli("list", *words)
        assert (result.code, result.out) == (code, "")
        assert message in result.err

    def test_json_is_an_array_of_job_objects(self, cli: Cli, several: None) -> None:
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
        self, terminal: Terminal, cli: Cli, several: None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert "\x1b[31mdead" in terminal("list").out
        assert "\x1b" not in cli("list").out
        monkeypatch.setenv("NO_COLOR", "1")
        assert "\x1b" not in terminal("list").out


class TestShow:
    def test_tells_everything_and_every_attempt(self, cli: Cli, several: None) -> None:
        text = cli("show", "broken").out
        assert "State:      dead\n" in text
        assert "Last error: exit code 1: no such file\n" in text
        assert "Attempts:   1/1 (max retries 0)\n" in text
        header, attempt = text.splitlines()[-2:]
        assert header.split()[:4] == ["ATTEMPT", "STARTED", "TOOK", "OUTCOME"]
        assert attempt.split()[0] == "1"
        assert "failed" in attempt

    def test_json_has_the_history(self, cli: Cli, several: None) -> None:
        job = cli("show", "flaky", "--json").json()
        assert job["id"] == "flaky"
        assert [(a["attempt"], a["outcome"]) for a in job["history"]] == [(1, "failed")]
        assert job["history"][0]["exit_code"] == 1

    def test_has_the_attempt_that_runs(self, cli: Cli, several: None, stage: Stagehand) -> None:
        assert cli("info", "running").out.splitlines()[-1].split()[0] == "1"
        history = cli("get", "running", "--json").json()["history"]
        assert [(a["outcome"], a["finished_at"]) for a in history] == [("running", None)]

    def test_takes_several_ids(self, cli: Cli, several: None) -> None:
        assert [j["id"] for j in cli("show", "done", "later", "--json").json()] == ["done", "later"]
        result = cli("show", "done", "nobody", "later")
        assert result.code == 1
        assert "there is no job 'nobody'" in result.err
        assert "Id:        done" in result.out
        assert "Id:        later" in result.out

    @pytest.mark.parametrize("id", ["nobody", "", "../../etc", "\udcff", "a" * 500, "%", "'"])
    def test_of_an_unknown_job_is_not_found(self, cli: Cli, several: None, id: str) -> None:
        result = cli("show", id)
        assert (result.code, result.out) == (1, "")
        assert "there is no job" in result.err

    def test_keeps_control_characters_and_secrets_to_itself(
        self, terminal: Terminal, cli: Cli, queue: Queue, stage: Stagehand
    ) -> None:
        queue.enqueue(EVIL, id="evil", env={"TOKEN": "hush"}, max_retries=0)
        stage.fail("evil", error="exit code 1: \x1b[2J\x07")
        for text in (terminal("show", "evil", width=200).out, cli("show", "evil").out):
            assert "\x1b]" not in text
            assert "\x1b[2J" not in text
            assert "\x07" not in text
            assert "exit code 1: \\x1b[2J\\x07" in text
            assert "TOKEN" in text
            assert "hush" not in text


@pytest.mark.parametrize(
    "command",
    [
        "list",
        "show",
        "logs",
        "wait",
        "status",
        "cancel",
        "retry",
        "rm",
        "dlq",
        "config",
        "cleanup",
        "init",
    ],
)
def test_every_command_has_help_with_examples(cli_process: Cli, command: str) -> None:
    result = cli_process(command, "--help")
    assert result.code == 0
    assert f"usage: queuectl {command}" in result.out
    assert f"examples:\n  queuectl {command}" in result.out
