"""A soak of some seconds: the machinery of the long one, and how growth is told from noise."""

from __future__ import annotations

import math
import os
from pathlib import Path

import pytest
from proof.soak_samples import Course, Sample, Sampler, slope

from proof import soak


@pytest.mark.long
@pytest.mark.timeout(300)
def test_a_short_soak() -> None:
    part = soak.prove(full=False)
    assert not part.failed
    assert part.verdict.good, part.verdict
    assert part.verdict.jobs > 10
    assert [row for row in part.rows if not row.good] == []


def course(*memory: float, files: tuple[int, ...] = ()) -> Course:
    """A sample every minute."""
    each = files or (5,) * len(memory)
    return Course(
        [
            Sample(at=60.0 * number, memory=mb, files=count, threads=2)
            for number, (mb, count) in enumerate(zip(memory, each, strict=True))
        ]
    )


def test_a_leak_is_a_slope() -> None:
    leaking = course(*(20 + number / 30 for number in range(30)))
    assert leaking.growth == pytest.approx(2.0)
    assert leaking.memory == pytest.approx(20 + 29 / 30)


def test_noise_is_none() -> None:
    assert abs(course(*(20 + math.sin(number) / 10 for number in range(30))).growth) < 0.5
    assert slope([]) == slope([(1.0, 2.0)]) == 0.0


def test_files_that_are_open_for_a_moment_are_no_leak() -> None:
    assert course(*[1.0] * 6, files=(5, 9, 5, 5, 7, 5)).more("files") == 0
    assert course(*[1.0] * 6, files=(5, 9, 5, 6, 7, 6)).more("files") == 1


def test_a_process_that_is_gone_is_told(tmp_path: Path) -> None:
    gone = 2**22 + 1  # beyond the greatest pid
    sampler = Sampler({"worker": [os.getpid(), gone]}, tmp_path / "none", warm_up=0.0)
    sampler.look()
    assert [line.split()[:2] for line in sampler.gone] == [["worker", str(gone)]]
    assert len(sampler.of("worker")) == 2
    assert sorted(one.more("files") for one in sampler.of("worker")) == [0, 0]
    assert min(one.memory for one in sampler.of("worker")) == 0.0
