"""What a document shows as a command can be typed: the program understands it. test_sessions.py runs it."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest
import yaml
from tests.docs.blocks import ROOT, Block, blocks_of, pages
from tests.docs.parsing import complaint
from tests.docs.shell_lines import commands
from tests.docs.test_docs import steps

PAGES = pages()
# Kinds that are for the eye, and those for which a test below or elsewhere stands.
SHOWN = ("text", "ini", "promql")
CHECKED = ("console", "sh", "python", "sql", "json", "yaml", "toml")
SPAN = re.compile(r"(?<!`)`queuectl ([^`]+)`(?!`)")
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is to be done; if it were, it would be here."""
    monkeypatch.setenv("QUEUECTL_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


def shell_of(block: Block) -> str:
    if block.kind == "sh":
        return block.body
    # What is shown to be refused need not be understood.
    return "\n".join(command for command, code, _ in steps(block.body) if code not in (2, 4))


def without_blocks(page: str) -> str:
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)


def wrong(words: list[str]) -> str | None:
    """What is wrong with one command of a document."""
    program, *rest = words
    if program == "queuectl":
        # The value of a variable is not known; most often it is a name or a number.
        return complaint(rest) and complaint([re.sub(r"\$\{?\w+\}?", "1", word) for word in rest])
    if program == "make":
        unknown = [
            word for word in rest if "=" not in word and not word.startswith("-") and word not in TARGETS
        ]
        return f"the Makefile has no {', '.join(unknown)}" if unknown else None
    if program.endswith("python") and rest and rest[0].startswith("tools/"):
        return None if (ROOT / rest[0]).exists() else f"there is no {rest[0]}"
    return None


@pytest.mark.parametrize("page", PAGES)
def test_every_block_is_of_a_kind_that_somebody_checks(page: str) -> None:
    assert {block.place: block.kind for block in blocks_of(page) if block.kind not in SHOWN + CHECKED} == {}


@pytest.mark.parametrize("page", [page for page in PAGES if blocks_of(page, "console", "sh")])
def test_every_command_of_a_page_is_one_that_exists(page: str) -> None:
    found = [
        (block.place, words)
        for block in blocks_of(page, "console", "sh")
        for words in commands(shell_of(block))
    ]
    assert found
    assert [(place, " ".join(words), said) for place, words in found if (said := wrong(words))] == []


@pytest.mark.parametrize("page", PAGES)
def test_indented_commands_are_ones_that_exist(page: str) -> None:
    lines = re.findall(r"^    (queuectl .*)$", without_blocks(page), re.MULTILINE)
    shown = [line for line in lines if "COMMAND" not in line]
    assert [(line, said) for line in shown for words in commands(line) if (said := wrong(words))] == []


@pytest.mark.parametrize("page", PAGES)
def test_commands_in_the_text_name_only_options_that_exist(page: str) -> None:
    text = without_blocks(page)
    lines = [f"queuectl {span}" for span in SPAN.findall(text) if not span.startswith("COMMAND")]
    said = {line: wrong(words) for line in lines for words in commands(line)}
    unknown = ("unknown command", "unknown option", "unrecognized arguments", "invalid choice")
    assert {line: why for line, why in said.items() if why and why.startswith(unknown)} == {}


@pytest.mark.parametrize(
    "page", [page for page in PAGES if blocks_of(page, "json", "yaml", "toml", "python")]
)
def test_what_is_shown_as_data_or_program_can_be_read(page: str) -> None:
    for block in blocks_of(page, "json", "yaml", "toml", "python"):
        match block.kind:
            case "json":
                json.loads(block.body)
            case "yaml":
                assert yaml.safe_load(block.body), block.place
            case "toml":
                tomllib.loads(block.body)
            case _:
                compile(block.body, block.place, "exec")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a b | c 'd | e' && f > out 2>err # not this", [["a", "b"], ["c", "d | e"], ["f"]]),
        (
            "X=1 a \\\n  b\nfor i in 1 2; do c; done",
            [["a", "b"], ["for", "i", "in", "1", "2"], ["c"], ["done"]],
        ),
        ('a "$(b --c)" d', [["b", "--c"], ["a", "substituted", "d"]]),
        ("cat > f <<'END'\nqueuectl no\nEND\na 'b\nc'", [["cat"], ["a", "b\nc"]]),
    ],
)
def test_shell_text_is_taken_apart(text: str, found: list[list[str]]) -> None:
    assert list(commands(text)) == found


@pytest.mark.parametrize(
    "line",
    ["frobnicate", "list --colour", "worker start --count none", "dlq fetch", "map --frob 'a {}' ::: b"],
)
def test_what_does_not_exist_is_found(line: str) -> None:
    assert all(complaint(words) for words in commands(line))


def test_understanding_a_line_does_nothing(tmp_path: Path) -> None:
    assert complaint(["enqueue", "echo hello"]) is None
    assert complaint(["cleanup", "--yes"]) is None
    assert list(tmp_path.iterdir()) == []


def test_every_mark_belongs_to_a_block() -> None:
    for page in PAGES:
        marks = re.findall(r"^<!-- not run:", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE)
        assert len(marks) == len([block for block in blocks_of(page, "console", "sh") if block.not_run]), page
