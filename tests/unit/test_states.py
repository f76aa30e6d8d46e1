"""The table of legal moves and the groups of states agree with each other."""

from __future__ import annotations

import pytest

from queuectl.core import states


def test_every_state_has_its_moves_and_they_lead_to_states() -> None:
    assert set(states.MOVES) == set(states.ALL)
    for targets in states.MOVES.values():
        assert set(targets) <= set(states.ALL)


def test_nothing_runs_that_is_not_pending() -> None:
    into = [state for state in states.ALL if states.PROCESSING in states.MOVES[state]]
    assert into == [states.PENDING]


def test_completed_is_the_end() -> None:
    assert states.MOVES[states.COMPLETED] == ()


def test_what_waits_for_its_time_becomes_pending() -> None:
    for state in states.TIMED:
        assert states.PENDING in states.MOVES[state]


def test_requests_start_only_from_states_with_that_move() -> None:
    for state in states.CANCELLABLE:
        assert states.CANCELLED in states.MOVES[state]
    for state in states.RETRYABLE:
        assert states.PENDING in states.MOVES[state]


def test_only_a_running_job_cannot_be_removed() -> None:
    assert set(states.ALL) - set(states.REMOVABLE) == {states.PROCESSING}


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("pending", "pending"),
        (" DEAD ", "dead"),
        ("canceled", "cancelled"),
        ("running", "processing"),
        ("dlq", "dead"),
        ("done", "completed"),
        ("bogus", None),
        ("", None),
    ],
)
def test_a_state_is_read_as_people_write_it(text: str, state: str | None) -> None:
    assert states.parse_state(text) == state
