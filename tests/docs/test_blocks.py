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
from tests.docs.session import steps
from tests.docs.shell_lines import commands

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


def complaints(page: str, lines: list[str]) -> list[tuple[str, str, str]]:
    return [
        (page, " ".join(words), said) for line in lines for words in commands(line) if (said := wrong(words))
    ]


def test_every_block_is_of_a_kind_that_somebody_checks() -> None:
    blocks = [block for page in PAGES for block in blocks_of(page)]
    assert {block.place: block.kind for block in blocks if block.kind not in SHOWN + CHECKED} == {}


def test_every_command_of_a_block_is_one_that_exists() -> None:
    blocks = [block for page in PAGES for block in blocks_of(page, "console", "sh")]
    assert len(blocks) > 100
    assert [found for block in blocks for found in complaints(block.place, [shell_of(block)])] == []


def test_indented_commands_are_ones_that_exist() -> None:
    shown = {page: re.findall(r"^    (queuectl .*)$", without_blocks(page), re.MULTILINE) for page in PAGES}
    assert [
        found
        for page, lines in shown.items()
        for found in complaints(page, [line for line in lines if "COMMAND" not in line])
    ] == []


def test_commands_in_the_text_name_only_options_that_exist() -> None:
    """A command may lack what it needs there, but what is written down is known."""
    unknown = ("unknown command", "unknown option", "unrecognized arguments", "invalid choice")
    for page in PAGES:
        spans = [span for span in SPAN.findall(without_blocks(page)) if not span.startswith("COMMAND")]
        found = complaints(page, [f"queuectl {span}" for span in spans])
        assert [each for each in found if each[2].startswith(unknown)] == []


def test_what_is_shown_as_data_or_program_can_be_read() -> None:
    blocks = [block for page in PAGES for block in blocks_of(page, "json", "yaml", "toml", "python")]
    assert {block.kind for block in blocks} == {"json", "yaml", "toml", "python"}
    for block in blocks:
        try:
            match block.kind:
                case "json":
                    json.loads(block.body)
                case "yaml":
                    assert yaml.safe_load(block.body)
                case "toml":
                    tomllib.loads(block.body)
                case _:
                    compile(block.body, block.place, "exec")
        except Exception as error:
            error.add_note(block.place)
            raise


def test_shell_text_is_taken_apart() -> None:
    for text, found in (
        ("a b | c 'd | e' && f > out 2>err # not this", [["a", "b"], ["c", "d | e"], ["f"]]),
        (
            "X=1 a \\\n  b\nfor i in 1 2; do c; done",
            [["a", "b"], ["for", "i", "in", "1", "2"], ["c"], ["done"]],
        ),
        ('a "$(b --c)" d', [["b", "--c"], ["a", "substituted", "d"]]),
        ("cat > f <<'END'\nqueuectl no\nEND\na 'b\nc'", [["cat"], ["a", "b\nc"]]),
    ):
        assert list(commands(text)) == found


def test_what_does_not_exist_is_found() -> None:
    for line in (
        "frobnicate",
        "list --colour",
        "worker start --count none",
        "dlq fetch",
        "map --frob 'a {}' ::: b",
    ):
        assert all(complaint(words) for words in commands(line)), line


def test_understanding_a_line_does_nothing(tmp_path: Path) -> None:
    assert complaint(["enqueue", "echo hello"]) is None
    assert complaint(["cleanup", "--yes"]) is None
    assert list(tmp_path.iterdir()) == []


def test_every_mark_belongs_to_a_block() -> None:
    for page in PAGES:
        marks = re.findall(r"^<!-- not run:", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE)
        assert len(marks) == len([block for block in blocks_of(page, "console", "sh") if block.not_run]), page
