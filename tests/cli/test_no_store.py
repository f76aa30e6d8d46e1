"""Commands that only look make no store: they show what an empty queue shows, and say that there is none."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from tests.support.cli import Cli, assert_store_error
from tests.support.engines import SERVERS, engines, fresh_store
from tests.support.sql import tables

LOOKING = [
    ("list",),
    ("list", "--json"),
    ("list", "--state", "dead", "--quiet"),
    ("status",),
    ("status", "--json"),
    ("status", "--format", "{pending}"),
    ("stats",),
    ("stats", "--json"),
    ("queue", "list"),
    ("queue", "list", "--json"),
    ("dlq", "list"),
    ("dlq", "groups", "--json"),
    ("worker", "list"),
    ("worker", "list", "--json"),
    ("schedule", "list"),
    ("schedule", "list", "--json"),
    ("config", "list"),
    ("config", "get", "max-retries"),
    ("graph",),
    ("metrics",),
    ("wait", "--all"),
]
ABOUT_ONE = [
    ("show", "x"),
    ("logs", "x"),
    ("logs", "-f", "x"),
    ("explain", "x"),
    ("graph", "x"),
    ("wait", "x"),
    ("queue", "show", "x"),
    ("schedule", "show", "x"),
    ("dlq", "show", "x"),
    ("dlq", "list", "--group", "x"),
]


@pytest.fixture(autouse=True)
def here(work_dir: Path) -> Path:
    return work_dir


def without_digits(text: str) -> str:
    """Times pass, and a store in memory has no size."""
    return re.sub(r"[0-9.e+]+", "0", text)


@pytest.mark.parametrize("words", LOOKING, ids=" ".join)
def test_as_an_empty_queue_but_nothing_is_made(
    cli: Cli, here: Path, home_dir: Path, words: tuple[str, ...]
) -> None:
    result = cli("--db", "no/such.db", *words)
    makes = "queuectl --db no/such.db enqueue … makes it"
    assert f"note: there is no queue at {here}/no/such.db yet; {makes}" in result.err.splitlines()
    assert os.listdir(here) == []
    assert not home_dir.exists()

    cli("--db", "empty.db", "init")
    empty = cli("--db", "empty.db", *words)
    assert result.code == empty.code
    assert without_digits(result.out) == without_digits(empty.out)
    assert result.err.count("\n") == empty.err.count("\n") + 1


@pytest.mark.parametrize("words", ABOUT_ONE, ids=" ".join)
def test_what_is_not_there_is_an_error(cli: Cli, here: Path, words: tuple[str, ...]) -> None:
    result = cli("--db", "no/such.db", *words)
    assert result.code == 1
    assert result.err.startswith("note: there is no queue at ")
    assert "\nerror: " in result.err
    assert os.listdir(here) == []


def test_an_error_in_json_stands_alone(cli: Cli) -> None:
    result = cli("--db", "no/such.db", "show", "--json", "x")
    assert json.loads(result.err)["error"]["code"] == "not_found"


def test_a_fresh_home_is_left_alone_without_a_word(cli: Cli, home_dir: Path) -> None:
    assert cli("list").err == "no jobs\n"
    assert not home_dir.exists()


def test_the_environment_may_be_mistyped_as_well(
    cli: Cli, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUEUECTL_DB", "such.db")
    assert cli("list").err.endswith(f"there is no queue at {here}/such.db yet; queuectl enqueue … makes it\n")
    assert os.listdir(here) == []


def test_an_empty_file_stays_empty(cli: Cli, here: Path) -> None:
    (here / "empty.db").touch()
    assert "no jobs" in cli("--db", "empty.db", "list").err
    assert (here / "empty.db").stat().st_size == 0


def test_what_writes_still_makes_it(cli: Cli) -> None:
    assert cli("--db", "no/such.db", "enqueue", "--id", "a", "true").code == 0
    result = cli("--db", "no/such.db", "list", "--quiet")
    assert (result.out, result.err) == ("a\n", "")


def test_a_place_that_cannot_be_one_is_an_error(cli: Cli, here: Path) -> None:
    (here / "file").write_text("no directory")
    assert_store_error(cli("--db", "file/queue.db", "list"), "Not a directory")


def test_what_can_never_be_a_store_is_no_empty_one(cli: Cli, here: Path) -> None:
    os.mkfifo(here / "pipe")
    for place in ("pipe", "/dev/null"):
        assert_store_error(cli("--db", place, "list"), "disk I/O error")


@pytest.mark.parametrize("engine", engines(*SERVERS))
def test_on_a_server(cli: Cli, home_dir: Path, engine: str) -> None:
    with fresh_store(engine) as url:
        assert url is not None
        result = cli("--db", url, "list", "--json")
        assert (result.code, result.json()) == (0, [])
        assert "note: there is no queue at " in result.err
        assert {words: cli("--db", url, *words).code for words in LOOKING} == dict.fromkeys(LOOKING, 0)
        assert {words: cli("--db", url, *words).code for words in ABOUT_ONE} == dict.fromkeys(ABOUT_ONE, 1)
        metrics = cli("--db", url, "metrics").out
        assert "queuectl_store_size_bytes 0.0" in metrics
        assert tables(url) == set()
        assert not home_dir.exists()
