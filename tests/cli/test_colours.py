"""Colours only where somebody wants them, by every command; no escapes for a terminal that knows none."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.cli.screens import show
from tests.support.cli import Cli, Terminal

COLOUR = re.compile(rb"\x1b\[[0-9;]*m")
COMMANDS = {
    "list": ["list"],
    "show": ["show", "done"],
    "graph": ["graph", "done"],
    "doctor": ["doctor"],
    "help": ["list", "--help"],
}


@pytest.mark.process
def test_colours_on_a_terminal(tmp_path: Path, jobs_in_every_state: None) -> None:
    """That there are none where none are wanted: test_terminals."""
    screens = show(list(COMMANDS.values()), notes=tmp_path / "notes")
    for words, screen in zip(COMMANDS.values(), screens, strict=True):
        assert COLOUR.search(screen.text.encode()), words


def test_a_pipe_gets_colours_only_when_they_are_forced(
    cli: Cli, jobs_in_every_state: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for words in COMMANDS.values():
        if words != COMMANDS["help"]:
            assert b"\x1b" not in cli(*words).raw
    monkeypatch.setenv("FORCE_COLOR", "0")
    assert b"\x1b" not in cli("list").raw
    for variable in ("FORCE_COLOR", "CLICOLOR_FORCE"):
        monkeypatch.setenv(variable, "1")
        assert COLOUR.search(cli("list").raw)
    monkeypatch.setenv("NO_COLOR", "1")
    assert b"\x1b" not in cli("list").raw


def test_help_in_colours_says_the_same(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = cli("graph", "--help").raw
    monkeypatch.setenv("CLICOLOR_FORCE", "1")
    coloured = cli("graph", "--help").raw
    assert COLOUR.sub(b"", coloured) == plain != coloured


@pytest.mark.long
def test_the_progress_of_an_enqueue(
    terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "jobs").write_text("true\n" * 200_000)
    words = ("enqueue", "--lines", "--file", str(tmp_path / "jobs"))
    monkeypatch.setenv("NO_COLOR", "1")
    shown = terminal(*words).raw
    assert re.search(rb"\r\[[#-]+\] .*% .* enqueued .*\x1b\[K", shown)
    assert not COLOUR.search(shown)
    dumb = terminal(*words, term="dumb").raw
    assert b"200,000 jobs enqueued" in dumb
    assert b"\x1b" not in dumb
    assert b"\r[" not in dumb
