"""Bad input through the command line that is more than a row of the tables in `test_mistakes` can say."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from tests.support.cli import Cli

from queuectl.queue import Queue


def test_a_bad_line_far_down_takes_the_whole_file_with_it(cli: Cli, queue: Queue, work_dir: Path) -> None:
    lines = [json.dumps({"id": f"j{n}", "command": "true"}) for n in range(3_000)]
    Path("jobs").write_text("\n".join([*lines, "{}"]))

    result = cli("enqueue", "-f", "jobs")

    assert result.code == 2
    assert "line 3001: the command is missing" in result.err
    assert queue.stats().counts["pending"] == 0


def test_stdin_is_judged_like_a_file(cli: Cli, queue: Queue) -> None:
    result = cli("enqueue", "-f", "-", stdin='{"command":"x"}\n{"command":7}\n')

    assert result.code == 2
    assert "line 2: command must be text" in result.err
    assert queue.stats().counts["pending"] == 0


def test_bytes_that_are_no_text_come_through_a_real_command_line(cli_process: Cli) -> None:
    result = cli_process("enqueue", os.fsdecode(b"echo \xff"))

    assert result.code == 2
    assert "lone surrogate" in result.err
    assert "Traceback" not in result.err


def test_a_terminal_as_stdin_is_not_waited_for(terminal: Cli) -> None:
    result = terminal("enqueue", "-f", "-")

    assert result.code == 2
    assert "nothing is piped in" in result.out


def test_several_ids_are_tried_each_and_the_worst_decides(
    cli: Cli, jobs_in_every_state: None, queue: Queue
) -> None:
    result = cli("retry", "nosuch", "done", "broken")

    assert result.code == 4
    assert [len(text.splitlines()) for text in (result.out, result.err)] == [1, 2]
    assert queue.get("broken").state == "pending"


@pytest.mark.parametrize("words", [("status", "--watch", "--json"), ("logs", "done", "-f", "--json")])
def test_json_and_an_endless_view_do_not_go_together(
    cli: Cli, jobs_in_every_state: None, words: tuple[str, ...]
) -> None:
    assert cli.failure(*words) == (2, "invalid_input")


def test_a_directory_that_is_gone(cli: Cli, queue: Queue, work_dir: Path) -> None:
    work_dir.rmdir()

    result = cli("enqueue", "echo hi")

    assert result.code == 2
    assert "the current directory does not exist any more" in result.err
    assert "--cwd DIR" in result.err
    assert cli("enqueue", "--cwd", "/", "echo hi").code == 0


def test_a_variable_with_a_bad_setting(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUEUECTL_MAX_RETRIES", "many")

    result = cli("enqueue", "echo hi")

    assert result.code == 2
    assert "max-retries must be a whole number, not 'many'" in result.err


@pytest.mark.parametrize(
    ("text", "says"),
    [("max-retries = ", "cannot read"), ("max-retrys = 3", "there is no setting"), ("\xff", "cannot read")],
)
def test_a_bad_config_file(cli: Cli, home_dir: Path, text: str, says: str) -> None:
    home_dir.mkdir()
    (home_dir / "config.toml").write_bytes(text.encode("latin-1"))

    result = cli("list")

    assert result.code == 2
    assert says in result.err
    assert str(home_dir / "config.toml") in result.err
    assert "Traceback" not in result.err
