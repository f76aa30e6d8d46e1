"""The fuzzing of `make proof`, in small: it runs, it counts, and it tells what it finds."""

from __future__ import annotations

import subprocess
from importlib.util import find_spec

import pytest
from proof.fuzz import _judged, prove

needs_atheris = pytest.mark.skipif(find_spec("atheris") is None, reason="atheris is missing: no coverage")


@needs_atheris
@pytest.mark.proof
def test_it_reaches_the_parsers_and_finds_nothing() -> None:
    part = prove(full=False)
    assert part.good, part
    assert part.left_out == []
    assert len(part.rows) >= 4


def test_a_finding_is_told_with_its_input() -> None:
    said = (
        "cov: 12 ft: 3\n === Uncaught Python exception: ===\nValueError: boom\n"
        "stat::number_of_executed_units: 70\n"
    )
    done = subprocess.CompletedProcess(["fuzzer"], 77, "", said)
    found = _judged("json", done, "crash by b'x'")
    assert (found.runs, found.covered) == (70, 12)
    assert found.finding == "ValueError: boom (crash by b'x')"


def test_a_fuzzer_that_does_not_even_start_is_a_finding() -> None:
    done = subprocess.CompletedProcess(["fuzzer"], 1, "", "ImportError: no")
    assert "exit code 1" in _judged("json", done, "").finding
