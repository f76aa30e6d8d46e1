"""The power fails twice, in small: what was said before is true afterwards."""

from __future__ import annotations

import pytest

from proof import power


def test_what_was_acknowledged_survives_a_power_failure() -> None:
    part = power.prove(full=False)
    if part.left_out:
        pytest.skip("; ".join(part.left_out))
    assert part.good, (part.rows, part.verdict.findings)
