"""The crash matrix, in small: its scenes lead processes to their points, and the checker is content."""

from __future__ import annotations

import pytest
from proof.matrix import prove, run_lane
from proof.matrix.points import SCENES, without_scene


def test_no_point_of_the_program_is_without_a_scene() -> None:
    assert without_scene() == []
    assert len(SCENES) > 70


@pytest.mark.long
@pytest.mark.timeout(300)
def test_a_few_points_on_every_engine() -> None:
    part = prove(full=False)
    assert part.verdict.findings == []
    if not part.left_out:
        assert part.good, part.rows
        assert part.verdict.jobs >= part.verdict.runs - part.verdict.again > 0


@pytest.mark.parametrize(
    "point",
    [
        "run.log_opened",
        "supervise.spawned",
        *(
            pytest.param(point, marks=pytest.mark.long)
            for point in (
                "stray.killed",
                "shorten.before_commit",
                "shorten.committed",
                "shutdown.asked",
                "shutdown.forwarded",
                "supervise.crashed",
            )
        ),
    ],
)
def test_what_no_other_test_kills(point: str) -> None:
    """Most of them know nothing of engines; the matrix itself goes over all three."""
    lane = run_lane("sqlite", point, 1)
    assert (lane.verdict.findings, lane.missed, lane.rounds) == ([], [], 1)
