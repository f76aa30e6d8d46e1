"""Every fault and every attack that we know of is in the catalogue, and what it names is there."""

from __future__ import annotations

import ast
import functools
from pathlib import Path

from proof.__main__ import PARTS

from proof import catalogue

ROOT = Path(__file__).parents[2]


def test_none_is_missing() -> None:
    assert [entry.number for entry in catalogue.entries()] == catalogue.NUMBERS


def test_each_is_shown_or_there_is_a_reason() -> None:
    entries = catalogue.entries()
    assert [entry.number for entry in entries if not entry.name] == []
    assert [entry.number for entry in entries if bool(entry.shown) == bool(entry.why_not)] == []


def test_what_shows_it_is_there() -> None:
    shown = [(entry.number, each) for entry in catalogue.entries() for each in entry.shown]
    assert [(number, each) for number, each in shown if not exists(each)] == []


def exists(shown: str) -> bool:
    """A test, or a part of the proof."""
    file, colons, function = shown.rpartition("::")
    if not colons:
        return shown.removeprefix("proof.") in PARTS
    return (ROOT / file).exists() and function in functions_of(ROOT / file)


@functools.cache
def functions_of(file: Path) -> set[str]:
    tree = ast.walk(ast.parse(file.read_text("utf-8")))
    return {node.name for node in tree if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")}
