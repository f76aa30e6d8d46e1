"""Every fault and every attack that we know of is in the catalogue, and what it names is there."""

from __future__ import annotations

import ast
import functools
from pathlib import Path

import pytest
from proof.__main__ import PARTS

from proof import catalogue

ROOT = Path(__file__).parents[2]


def test_none_is_missing() -> None:
    assert [entry.number for entry in catalogue.entries()] == catalogue.NUMBERS


@pytest.mark.parametrize("entry", catalogue.entries(), ids=lambda entry: entry.number)
def test_it_is_shown_or_there_is_a_reason(entry: catalogue.Entry) -> None:
    assert entry.name
    assert bool(entry.shown) != bool(entry.why_not)
    for each in entry.shown:
        file, colons, function = each.rpartition("::")
        if colons:
            assert function in functions_of(ROOT / file), each
        else:
            assert each.removeprefix("proof.") in PARTS, each


@functools.cache
def functions_of(file: Path) -> set[str]:
    tree = ast.walk(ast.parse(file.read_text("utf-8")))
    return {node.name for node in tree if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")}
