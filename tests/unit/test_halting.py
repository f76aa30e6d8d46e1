"""`map --halt`: which rules there are, and when they say stop."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queuectl.core.halting import parse_halt, triggered
from queuectl.errors import InvalidInput


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("never", "never"),
        ("soon,fail=1", "soon,fail=1"),
        ("now,fail=10%", "now,fail=10%"),
        ("Now, Success=3", "now,success=3"),
        ("soon,done=100%", "soon,done=100%"),
    ],
)
def test_a_rule_is_read_as_in_parallel(text: str, meant: str) -> None:
    assert str(parse_halt(text)) == meant


@pytest.mark.parametrize(
    "text",
    ["", "soon", "fail=1", "now,fail", "now,fail=0", "now,fail=0%", "soon,fail=101%", "later,fail=1"],
)
def test_what_is_no_rule_is_refused_with_one_that_is(text: str) -> None:
    with pytest.raises(InvalidInput, match="--halt") as refusal:
        parse_halt(text)
    assert "soon,fail=1" in refusal.value.hint


@pytest.mark.parametrize(
    ("rule", "completed", "failed", "total", "expected"),
    [
        ("never", 0, 100, 100, False),
        ("soon,fail=1", 9, 0, 10, False),
        ("soon,fail=1", 0, 1, 10, True),
        ("now,fail=3", 0, 2, 10, False),
        ("now,fail=3", 0, 3, 10, True),
        ("now,success=1", 0, 5, 10, False),
        ("now,success=1", 1, 5, 10, True),
        ("now,done=4", 1, 2, 10, False),
        ("now,done=4", 2, 2, 10, True),
        ("soon,fail=10%", 0, 2, 100, False),  # two of two, but that is too few to say anything
        ("soon,fail=10%", 27, 3, 100, True),
        ("soon,fail=10%", 28, 3, 100, False),
        ("soon,fail=50%", 1, 1, 2, False),
        ("soon,fail=50%", 0, 2, 2, True),
        ("now,success=50%", 3, 3, 100, True),
        ("now,done=50%", 40, 9, 100, False),
        ("now,done=50%", 40, 10, 100, True),
        ("soon,fail=1%", 0, 0, 0, False),
    ],
)
def test_a_rule_is_triggered_when_so_many_have_ended(
    rule: str, completed: int, failed: int, total: int, expected: bool
) -> None:
    assert triggered(parse_halt(rule), completed=completed, failed=failed, total=total) is expected


counts = st.integers(0, 50)


@settings(max_examples=100, deadline=None)
@given(
    limit=st.integers(1, 50), percent=st.sampled_from(["", "%"]), completed=counts, failed=counts, left=counts
)
def test_a_further_failure_never_takes_a_halt_back(
    limit: int, percent: str, completed: int, failed: int, left: int
) -> None:
    rule = parse_halt(f"now,fail={limit}{percent}")
    total = completed + failed + left + 1
    if triggered(rule, completed=completed, failed=failed, total=total):
        assert triggered(rule, completed=completed, failed=failed + 1, total=total)
