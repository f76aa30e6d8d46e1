"""The small version of the clocks' part of the proof: a jump forward and one back, on a file."""

from __future__ import annotations

import pytest
from proof.wall_clock import unavailable

from proof import clocks

pytestmark = pytest.mark.long


def test_a_clock_that_jumps_costs_nothing() -> None:
    if reason := unavailable():
        pytest.skip(reason)
    part = clocks.prove(full=False)
    assert part.good, (part.rows, part.verdict.findings)
    assert part.verdict.runs > 20
