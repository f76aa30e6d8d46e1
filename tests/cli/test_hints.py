"""Hints can be pasted: the commands in them are for the store that --db has named, and stay in one line."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from tests.support.cli import Cli, Terminal

from queuectl.cli.fitting import wrapped
from queuectl.cli.pasting import for_store

PLACE = "my jobs.db"
OPTION = "--db 'my jobs.db' "


@pytest.fixture(autouse=True)
def here(work_dir: Path) -> Path:
    return work_dir


# What is called, and the command that it names.
HINTED = {
    "a note": (("enqueue", "true"), "worker start"),
    "an option after the command": (("enqueue", "echo hi", "--id", "x"), "worker start"),
    "an error": (("show", "nobody"), "list shows the jobs"),
    "one of several errors": (("show", "held", "nobody"), "list shows the jobs"),
    "a typing error": (("lsit",), "list"),
    "a typing error in the second word": (("dlq", "lst"), "dlq list"),
    "explain": (("explain", "held"), "release held"),
    "show": (("show", "held"), "release held"),
    "doctor": (("doctor",), "worker start"),
    "workers": (("worker", "list"), "worker start"),
    "schedules": (("schedule", "add", "tick", "@hourly", "true"), "worker start"),
    "settings": (("config", "get", "frobnicate"), "config list shows all keys"),
    "the front page": ((), "worker start"),
    "two in one sentence": (("--db", "new.db", "status"), None),
}


@pytest.mark.parametrize(("words", "named"), HINTED.values(), ids=HINTED)
def test_a_hint_names_the_store(cli: Cli, words: tuple[str, ...], named: str | None) -> None:
    cli("--db", PLACE, "enqueue", "--id", "held", "--hold", "true")
    cli("--db", PLACE, "enqueue", "true")
    result = cli("--db", PLACE, *words)
    text = result.out + result.err
    if named is None:
        assert "queuectl --db new.db enqueue 'echo hello' && queuectl --db new.db worker start" in text
    else:
        assert f"queuectl {OPTION}{named}" in text
        assert f"queuectl {named}" not in text
        assert f"queuectl {named}" in _without_option(cli, words)


def _without_option(cli: Cli, words: tuple[str, ...]) -> str:
    """The same, for the usual store."""
    cli("enqueue", "--id", "held", "--hold", "true")
    cli("enqueue", "true")
    result = cli(*words)
    assert "--db" not in result.out + result.err
    return result.out + result.err


def test_after_the_command_it_counts_as_well(cli: Cli) -> None:
    assert f"queuectl {OPTION}list shows" in cli("show", "nobody", f"--db={PLACE}").err
    assert f"queuectl {OPTION}list shows" in cli("show", "nobody", "--db", PLACE).err


def test_the_next_command_is_for_its_own_store(cli: Cli) -> None:
    cli("--db", PLACE, "show", "nobody")
    assert "--db" not in cli("show", "nobody").err


def test_words_of_a_job_name_no_store(cli: Cli) -> None:
    assert "--db" not in cli("enqueue", "--", "mytool", "--db", PLACE).err


def test_the_environment_needs_no_option(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUEUECTL_DB", PLACE)
    assert "hint: queuectl list shows the jobs" in cli("show", "nobody").err


def test_json_has_it_too(cli: Cli) -> None:
    cli("--db", PLACE, "enqueue", "--id", "held", "--hold", "true")
    hint = json.loads(cli("--db", PLACE, "show", "--json", "nobody").err)["error"]["hint"]
    assert hint == f"queuectl {OPTION}list shows the jobs"
    [reason, *_] = cli("--db", PLACE, "explain", "--json", "held").json()["reasons"]
    assert reason["remedy"] == f"queuectl {OPTION}release held"
    fixes = [finding["fix"] for finding in cli("--db", PLACE, "doctor", "--json").json()["findings"]]
    assert not [fix for fix in fixes if fix and re.search(r"queuectl (?!--db)[a-z]", fix)]


def test_what_a_command_has_said_stays_as_it_is(cli: Cli) -> None:
    failing = "echo 'try: queuectl worker start' >&2; false"
    result = cli("--db", PLACE, "run", "--max-retries", "0", failing)
    assert "try: queuectl worker start" in result.err


def test_pasted_it_works(cli: Cli) -> None:
    cli("--db", PLACE, "enqueue", "--id", "held", "--hold", "true")
    hint = re.search(r"try: queuectl (.*)", cli("--db", PLACE, "explain", "held").out)
    assert hint is not None
    assert cli(*shlex.split(hint[1])).code == 0
    assert cli("--db", PLACE, "show", "held", "--format", "{state}").out == "pending\n"


# What stays, and what it becomes for the store x.
SENTENCES = {
    "start it: queuectl worker start": "start it: queuectl --db x worker start",
    "queuectl list shows the jobs": "queuectl --db x list shows the jobs",
    "queuectl wait a, queuectl cancel a": "queuectl --db x wait a, queuectl --db x cancel a",
    "(queuectl worker stop)": "(queuectl --db x worker stop)",
    "see: queuectl list --help": None,
    "see: queuectl dlq list --help": None,
    "queuectl --help shows the commands": None,
    "queuectl help selectors": None,
    "a tour: queuectl demo": None,
    "like: queuectl --db jobs.db list": None,
    "queuectl can do nothing without it": None,
    "pip install --upgrade queuectl": None,
    "name a file that queuectl backup has made": None,
    "/usr/bin/queuectl list": None,
    "finish it there: queuectl copy --to … (--restart begins it anew)": None,
    "queuectl listing": None,
    "queuectl import-pueue reads it": "queuectl --db x import-pueue reads it",
}


@pytest.mark.parametrize(("sentence", "becomes"), SENTENCES.items())
def test_a_sentence(sentence: str, becomes: str | None) -> None:
    assert for_store(sentence, "x") == (becomes or sentence)


def test_a_password_is_not_shown_again() -> None:
    shown = for_store("queuectl list", "postgresql://me:secret@db/jobs")
    assert shown.startswith("queuectl --db postgresql://me")
    assert "secret" not in shown


def test_an_address_that_is_none_is_left_to_its_own_error(cli: Cli) -> None:
    assert cli("--db", "postgresql://:x:y:z/", "list").code in (2, 3)


# --- in lines of a terminal ---------------------------------------------------------------------------

BROKEN = {
    "between words": ("a sentence of some words", ["a sentence of some", "  words"]),
    "not in a command": ("start it: queuectl worker start", ["start it:", "  queuectl worker start"]),
    "a command ends where the sentence goes on": (
        "queuectl list, queuectl stats or so",
        ["queuectl list,", "  queuectl stats or so"],
    ),
    "a verb ends it too": ("for all: queuectl list shows them", ["for all: queuectl list", "  shows them"]),
    "one in brackets": (
        "some words (queuectl list) and so on",
        ["some words", "  (queuectl list) and", "  so on"],
    ),
    "a long one outside of quotes": (
        "try: queuectl --db 'my jobs.db' worker start",
        ["try: queuectl --db", "  'my jobs.db' worker", "  start"],
    ),
    "blanks stay": ("echo 'a   b' | sort -u | uniq", ["echo 'a   b' | sort -u", "  | uniq"]),
    "a long word is left to the terminal": ("see " + "x" * 30, ["see", "  " + "x" * 30]),
    "what is indented stays so": ("    four blanks before it all", ["    four blanks before", "  it all"]),
}


@pytest.mark.parametrize(("text", "lines"), BROKEN.values(), ids=BROKEN)
def test_lines_of_23(text: str, lines: list[str]) -> None:
    assert wrapped(text, 23, 2).split("\n") == lines


def test_a_terminal_gets_lines_and_whole_commands(terminal: Terminal) -> None:
    place = "a place with a long name/jobs.db"
    shown = terminal("--db", place, "enqueue", "echo hi").out.replace("\r", "").splitlines()
    assert shown[1:] == [
        "note: no worker is running, so jobs will wait. Start one:",
        f"  queuectl --db '{place}' worker start",
    ]
    shown = terminal("--db", place, "show", "nobody", width=50).out.replace("\r", "").splitlines()
    assert shown[1:3] == ["  hint: queuectl --db", f"        '{place}' list"]
    assert all(len(line) <= 50 for line in shown)


def test_a_pipe_gets_one_line(cli: Cli) -> None:
    place = "a place with a long name/jobs.db"
    note = cli("--db", place, "enqueue", "echo hi").err
    assert note.count("\n") == 1


def test_next_steps_of_a_long_name_are_told_below_each_other(terminal: Terminal) -> None:
    place = "a place with a long name/jobs.db"
    shown = terminal("--db", place).out.replace("\r", "").splitlines()
    step = shown.index(f"  queuectl --db '{place}' run -- echo hello")
    assert shown[step + 1] == "      run one now, and see what it prints"
    assert '  queuectl enqueue "echo hello"  store a job' in terminal().out
