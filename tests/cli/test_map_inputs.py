"""The inputs of map on the way to their commands: it is the same whatever the store is."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.cli import Cli, Terminal

from queuectl.queue import Queue


def commands(queue: Queue) -> list[str]:
    return [job.command for job in queue.list()]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["echo", ":::", "a", "b c"], ["echo a", "echo 'b c'"]),
        (
            ["echo {2}-{1}", ":::", "a", "b", ":::", "1", "2"],
            ["echo 1-a", "echo 2-a", "echo 1-b", "echo 2-b"],
        ),
        (["echo {1}{2}", ":::", "a", "b", ":::+", "1", "2"], ["echo a1", "echo b2"]),
        (["-I", ",,", "echo {} ,,", ":::", "a"], ["echo {} a"]),
        (["-C", ",", "--header", ":", "echo {y} {x}", ":::", "x,y", "1,2"], ["echo 2 1"]),
        (["--", "cp", "{}", "{.}.bak", ":::", "d/a b.txt"], ["cp 'd/a b.txt' 'd/a b.bak'"]),
        (["--no-run-if-empty", "echo", ":::", "a", " ", ""], ["echo a"]),
    ],
)
def test_each_input_becomes_a_command(cli: Cli, words: list[str], expected: list[str]) -> None:
    assert cli("map", "--dry-run", *words).out.splitlines() == expected


def test_lines_come_from_stdin_and_files(cli: Cli, queue: Queue, work_dir: Path) -> None:
    Path("list").write_text("1\r\n2\n")

    assert cli("map", "echo {1}{2}", "::::", "-", "list", stdin="a\n\nb").code == 0
    assert commands(queue) == [f"echo {row}" for row in ("a1", "a2", "''1", "''2", "b1", "b2")]


def test_nul_separates_names_that_have_line_ends(cli: Cli, queue: Queue) -> None:
    assert cli("map", "-0", "cat {}", stdin="a\nb\0c\0").code == 0
    assert commands(queue) == ["cat 'a\nb'", "cat c"]


def test_an_option_after_the_inputs_is_one_of_them_and_said_to_be(cli: Cli) -> None:
    result = cli("map", "--dry-run", "echo", ":::", "a", "--wait")

    assert result.out == "echo a\necho --wait\n"
    assert "--wait after ::: is an input" in result.err


def test_no_input_is_no_job(cli: Cli, queue: Queue) -> None:
    result = cli("map", "--wait", "echo {2}", ":::")

    assert (result.code, queue.list()) == (0, [])
    assert "there is no input" in result.err


@pytest.mark.parametrize(
    "words",
    [
        ["echo {}", "::::", "nosuch"],
        [":::", "a"],
        ["echo {3}", ":::", "a"],
        ["-C", ",", "echo {1}", ":::", "a,b", "c"],
        ["echo {}", ":::", "fine", "\udcff"],
        ["--", "echo", "{}", ":::", "fine", "a\0"],
        ["--timeout", "soon", "echo", ":::", "a"],
        ["--halt", "now,fail=1", "echo", ":::", "a"],
        ["--halt", "later", "--wait", "echo", ":::", "a"],
        ["--name", "x" * 61, "echo", ":::", "a"],
        ["echo", ":::+", "a"],
        ["echo", "::::", "-", "-"],
        ["--id", "x", "echo", ":::", "a"],
    ],
)
def test_bad_input_stores_nothing(cli: Cli, home_dir: Path, words: list[str]) -> None:
    assert cli.failure("map", *words) == (2, "invalid_input")
    with Queue.open() as queue:
        assert queue.list() == []


def test_a_bad_input_is_named_by_its_number(cli: Cli) -> None:
    result = cli("--json", "map", "echo {}", ":::", "fine", "\udcff")
    assert result.error["message"].startswith("input 2: ")


def test_a_terminal_shows_a_bar(terminal: Terminal) -> None:
    seen = terminal("map", "--wait", "true", ":::", "a", "b").out
    assert "of 2 ended" in seen
    assert "✓ 2 jobs completed" in seen


def test_a_terminal_as_stdin_is_not_waited_for(terminal: Terminal) -> None:
    result = terminal("map", "echo {}")
    assert result.code == 2
    assert "nothing is piped in" in result.out
