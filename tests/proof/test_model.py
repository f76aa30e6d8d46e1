"""The model is about our code, holds, and would fail if the protocol were weaker."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from proof import model

ROOT = Path(__file__).parents[2]


def named() -> list[tuple[str, str]]:
    """The functions that the steps of the model stand for."""
    text = "".join(file.read_text("utf-8") for file in sorted(model.MODEL.parent.glob("*.pml")))
    return sorted(set(re.findall(r"@ (\S+\.py): ([\w.]+)", text)))


def defined_in(file: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.parse(file.read_text("utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.ClassDef):
            names |= {f"{node.name}.{each.name}" for each in node.body if isinstance(each, ast.FunctionDef)}
    return names


def test_each_step_stands_for_a_function_of_ours() -> None:
    assert [(file, name) for file, name in named() if name not in defined_in(ROOT / file)] == []


def test_the_steps_of_the_protocol_are_named() -> None:
    files = {Path(file).name for file, _ in named()}
    assert files >= {"exchange.py", "results.py", "coordination.py", "heart.py", "fence.py", "rescuer.py"}


def test_every_switch_of_the_model_is_tried() -> None:
    text = "".join(file.read_text("utf-8") for file in model.MODEL.parent.glob("*.pml"))
    switches = set(re.findall(r"#if(?:def| defined\(|n?def) ?\(?([A-Z_]+)", text)) | set(
        re.findall(r"defined\(([A-Z_]+)\)", text)
    )
    tried = {define.partition("=")[0] for each in model.SEARCHES + model.MUTANTS for define in each.defines}
    assert switches <= tried


@pytest.mark.long
def test_the_model_holds_and_a_weaker_one_does_not() -> None:
    if lacking := model.missing():
        pytest.skip(f"NOT TESTED: the model needs {lacking}")
    part = model.prove(full=False)
    assert part.good, part.rows
    assert len(part.rows) == len(model.FEW) + len(model.FEW_MUTANTS) + 1


def test_a_search_that_was_broken_off_proves_nothing() -> None:
    lines = ["State-vector 8 byte, depth reached 3, errors: 0", "  5 states, stored", "  7 transitions (= x)"]
    assert model.read("\n".join(lines)).whole
    assert not model.read("\n".join(["Warning: Search not completed", *lines])).whole
    with pytest.raises(RuntimeError, match="did not come to an end"):
        model.read("pan: out of memory")
