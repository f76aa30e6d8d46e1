"""The help: all commands under their headings, each with examples, topics; nothing wider than a terminal."""

from __future__ import annotations

import re
import sys

import pytest
from tests.cli.examples import every_parser
from tests.support.cli import Cli, Terminal

from queuectl.cli.helppage import HEADINGS
from queuectl.cli.main import ALIASES, COMMANDS
from queuectl.cli.options import Parser
from queuectl.cli.topicpage import topic_about, topic_names, topic_page, topic_source

TOPICS = topic_names()
PARSERS = list(every_parser())
COLOURS = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture(autouse=True)
def eighty_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def too_wide(text: str, width: int = 80) -> list[str]:
    return [line for line in text.splitlines() if len(line) > width]


# --- each command -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("words", "parser"), PARSERS, ids=[" ".join(words) for words, _ in PARSERS])
def test_help_of_a_command_has_its_own_examples_and_fits_80_columns(
    words: tuple[str, ...], parser: Parser
) -> None:
    text = parser.format_help()
    assert text.startswith(f"usage: queuectl {' '.join(words)} ")
    assert parser.description
    assert re.search(
        rf"^  (.*\| )?queuectl {' '.join(words)}\b", text.partition("examples:\n")[2], re.MULTILINE
    )
    assert too_wide(text) == []


def test_prose_flows_and_lists_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    dlq = dict(PARSERS)[("dlq",)]
    monkeypatch.setenv("COLUMNS", "50")
    narrow = dlq.format_help()
    assert (
        "The dead letter queue holds jobs whose retries\nare used up.\n\n  dlq list     what is in it"
        in narrow
    )


def test_help_on_a_terminal_is_coloured_and_fits(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS")
    seen = terminal("help", "schedule", "add")
    assert "\x1b[" in seen.out
    assert too_wide(COLOURS.sub("", seen.out).replace("\r", "")) == []


# --- all commands -------------------------------------------------------------------------------------


def test_every_command_is_under_one_heading() -> None:
    assert sorted(name for names in HEADINGS.values() for name in names) == sorted(COMMANDS)


@pytest.mark.parametrize("words", [("--help",), ("-h",), ("help",)])
def test_the_page_of_all_commands_can_be_taken_in(cli: Cli, words: tuple[str, ...]) -> None:
    page = cli(*words)
    assert page.code == 0
    assert len(page.out.splitlines()) <= 60
    assert too_wide(page.out) == []
    for name, about in COMMANDS.items():
        assert re.search(rf"^  {name} +{re.escape(about)}$", page.out, re.MULTILINE)
    for name in (*HEADINGS, *TOPICS):
        assert name in page.out


def test_the_page_of_all_commands_as_json(cli: Cli) -> None:
    found = cli("help", "--json").json()
    assert {entry["name"] for entry in found["commands"]} == set(COMMANDS)
    assert [entry["name"] for entry in found["topics"]] == TOPICS


# --- one command --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "prog"),
    [
        (("status",), "status"),
        (("worker",), "worker"),
        (("worker", "start"), "worker start"),
        (("ls",), "list"),
        (("dashboard", "token", "add"), "dashboard token add"),
    ],
)
def test_help_of_a_command_by_word(cli: Cli, words: tuple[str, ...], prog: str) -> None:
    page = cli("help", *words)
    assert page.code == 0
    assert page.out.startswith(f"usage: queuectl {prog} ")


@pytest.mark.parametrize(
    "words", [("wrker",), ("retrys",), ("from-puele",), ("xyzzy",), ("dlq", "lst"), ("enqueue", "ls")]
)
def test_help_of_what_is_not_there(cli: Cli, words: tuple[str, ...]) -> None:
    assert cli.failure("help", *words) == (2, "invalid_input")


# --- topics -------------------------------------------------------------------------------------------


def test_the_topics_that_were_promised_are_there() -> None:
    assert {"states", "retries", "exit-codes", "from-pueue", "from-parallel", "from-cron"} <= set(TOPICS)


def test_no_topic_hides_behind_a_command() -> None:
    assert not set(TOPICS) & {*COMMANDS, *ALIASES, "topics"}


@pytest.mark.parametrize("columns", ["60", "80", "200"])
@pytest.mark.parametrize("topic", TOPICS)
def test_a_topic_is_as_wide_as_the_screen_and_its_commands_stay_whole(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, topic: str, columns: str
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    page = cli("help", topic)
    assert page.code == 0
    assert page.out.startswith(topic_about(topic)[:40])
    assert "\x1b" not in page.out
    wide = [line for line in too_wide(page.out, int(columns)) if "queuectl " not in line]
    assert wide == []
    if int(columns) >= 80:
        assert too_wide(page.out) == [] or columns == "200"
    for line in topic_source(topic).splitlines():
        command = line.partition(" → ")[2].strip()
        if command.startswith("queuectl "):
            assert command in page.out


@pytest.mark.parametrize("words", [("exit-codes",), ("exit_codes",), ("Exit", "Codes")])
def test_a_topic_by_other_spellings(cli: Cli, words: tuple[str, ...]) -> None:
    assert cli("help", *words).out == cli("help", "exit-codes").out


def test_the_list_of_topics(cli: Cli) -> None:
    page = cli("help", "topics")
    assert too_wide(page.out) == []
    for topic in TOPICS:
        assert f"  {topic} " in page.out
    assert cli("help", "states", "--json").json()["about"] == topic_about("states")


def test_a_narrow_screen_gets_one_column(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "  pending\n      ready;" in topic_page("states", 32)
    assert "  pending     ready;" in topic_page("states", 78)


@pytest.mark.process
def test_help_loads_no_store() -> None:
    script = "import sys; from queuectl.cli.main import main; main(['help']); sys.exit('apsw' in sys.modules)"
    import subprocess

    assert (
        subprocess.run([sys.executable, "-c", script], stdout=subprocess.DEVNULL, check=False).returncode == 0
    )
