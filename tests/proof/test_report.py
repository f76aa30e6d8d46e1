"""The page says what the last runs have found, and nothing else."""

from __future__ import annotations

import pytest
from proof.__main__ import PARTS
from proof.keeping import last
from proof.verdict import Part, Verdict

from proof import report


def kept() -> list[Part]:
    return [last(name) or Part(name, failed=report.NOT_YET) for name in PARTS]


def test_the_page_has_the_figures_of_the_kept_results() -> None:
    page = report.PAGE.read_text("utf-8")
    assert report.replaced(page, report.block(kept())) == page


def test_only_what_is_between_the_marks_is_replaced() -> None:
    page = f"before\n{report.BEGIN}\nold\n{report.END}\nafter\n"
    new = report.replaced(page, "new")
    assert new == f"before\n{report.BEGIN}\n\nnew\n\n{report.END}\nafter\n"
    assert report.replaced(new, "new") == new
    with pytest.raises(ValueError, match="marks"):
        report.replaced("no marks", "new")


def test_without_runs_it_says_so() -> None:
    text = report.block([Part("storm", failed=report.NOT_YET)])
    assert "not yet run" in text
    assert "lost jobs" not in text


def some_part(**of_the_verdict: int) -> Part:
    part = Part("storm", Verdict(jobs=900, runs=1000, again=5, **of_the_verdict), date="2026-01-02 03:04 UTC")
    part.full = True
    part.seconds = 61.0
    part.row("kills", "500", "≥ 500")
    part.times = {"worker killed": [0.1, 0.3, 0.2]}
    part.left_out = ["partitions: this needs | root"]
    return part


def test_sums_times_rows_and_what_was_left_out() -> None:
    text = report.block([some_part(), some_part()])
    assert "| jobs acknowledged | 1,800 |" in text
    assert "| of those, of a job that had run before | 10 (0.50%) | some |" in text
    assert "| lost jobs | 0 | 0 |" in text
    assert "| worker killed | 0.20 s | 0.30 s | 0.30 s | 3 |" in text
    assert "| kills | 500 | ≥ 500 |  |" in text
    assert "- partitions: this needs \\| root" in text
    assert "Every promise held." in text


def test_what_is_bad_is_not_hidden() -> None:
    part = some_part(lost=1)
    part.verdict.findings = ["lost: job-1"]
    part.row("restarts", "3", "≥ 20", good=False)
    text = report.block([part, Part("power", failed="no loop device")])
    assert "**Not good: storm, power.**" in text
    assert "| lost jobs | 1 | 0 |" in text
    assert "- lost: job-1" in text
    assert "| restarts | 3 | ≥ 20 | **no** |" in text
    assert "**It could not go on:** no loop device" in text
