"""When all will be done: run times, slots and limits, reckoned without a store."""

from __future__ import annotations

from typing import Any

import pytest

from queuectl.core.estimates import (
    COMMANDS,
    MIXED,
    QUEUES,
    THROUGHPUT,
    Estimate,
    Line,
    estimate,
    remaining_ms,
    roughly,
)

S = 1_000


def a_line(name: str = "q", waiting: int = 10, *, slots: int = 2, **fields: Any) -> Line:
    line = Line(name, waiting, slots=slots)
    for field, value in fields.items():
        setattr(line, field, value)
    return line


@pytest.mark.parametrize(
    ("lines", "slots", "ms"),
    [
        ([a_line(waiting=10, known=[6 * S])], 2, 30 * S),
        ([a_line(waiting=1, known=[6 * S])], 2, 6 * S),  # no slot makes one job faster
        ([a_line(waiting=100, known=[2 * S, 4 * S])], 2, 150 * S),  # the sample stands for all
        ([a_line(waiting=10, known=[6 * S], concurrency=1)], 2, 60 * S),
        ([a_line(waiting=10, known=[S], rate=1 / (10 * S))], 2, 91 * S),  # one every ten seconds
        ([a_line(waiting=0, known=[], running=[4 * S, 9 * S])], 2, 9 * S),
        ([a_line(waiting=4, known=[S], running=[4 * S, 8 * S])], 2, 8 * S),
        ([a_line(waiting=1, known=[S], last_due=60 * S)], 2, 61 * S),  # it waits for its next attempt
        ([a_line("a", 4, known=[S]), a_line("b", 4, known=[3 * S])], 2, 8 * S),  # they share the slots
        ([a_line("a", 4, known=[S], slots=1), a_line("b", 4, known=[3 * S], slots=1)], 2, 12 * S),
    ],
)
def test_work_is_divided_among_the_slots_that_may_do_it(lines: list[Line], slots: int, ms: int) -> None:
    assert estimate(lines, slots).ms == ms


@pytest.mark.parametrize(
    ("line", "ms", "by", "percent"),
    [
        (a_line(known=[2 * S, 2 * S]), 10 * S, COMMANDS, 100),
        (a_line(known=[2 * S], unknown=1, usual=4 * S), 15 * S, MIXED, 50),
        (a_line(known=[2 * S], unknown=1), 10 * S, MIXED, 50),  # like the others
        (a_line(unknown=2, usual=4 * S), 20 * S, QUEUES, 0),
        (a_line(unknown=2), None, None, None),
        (a_line(waiting=0, running=[None], usual=4 * S), 4 * S, QUEUES, 0),
        (a_line(waiting=0), None, None, None),
    ],
)
def test_what_is_not_known_is_taken_from_the_next_best(
    line: Line, ms: int | None, by: str | None, percent: int | None
) -> None:
    found = estimate([line], 2)
    assert (found.ms, found.by, found.share_known) == (ms, by, percent)


def test_a_queue_that_was_not_looked_at_is_like_the_others() -> None:
    found = estimate([a_line("a", 10, known=[2 * S]), a_line("b", 10)], 2)
    assert (found.ms, found.by) == (20 * S, MIXED)


def test_what_nobody_will_run_is_left_out_and_told() -> None:
    lines = [a_line(known=[S]), a_line("idle", 7, slots=0), a_line("rest", 1_200, is_paused=True)]
    found = estimate(lines, 2)
    assert (found.ms, found.unserved, found.paused) == (5 * S, 7, 1_200)
    assert found.in_words() == (
        "by the run times of these commands; without 7 that no worker takes and 1,200 of paused queues"
    )
    assert estimate(lines[1:], 2).ms is None
    assert found.to_dict() == {
        "eta_seconds": 5.0,
        "eta": {"by": "commands", "known_percent": 100, "not_served": 7, "paused": 1_200},
    }


def test_in_words_what_it_was_worked_out_from() -> None:
    assert estimate([a_line(unknown=1, usual=S)], 1).in_words() == "by the usual run time of their queues"
    mixed = estimate([a_line(known=[S] * 3, unknown=1, usual=S)], 1).in_words()
    assert mixed == "by the run times of these commands, 70% of them known"
    hardly = estimate([a_line(known=[S], unknown=299, usual=S)], 1).in_words()
    assert hardly == "by the usual run time of their queues"
    drained = Estimate()
    drained.by = THROUGHPUT
    assert drained.in_words().startswith("by the throughput")


@pytest.mark.parametrize(
    ("elapsed", "usual", "progress", "left"),
    [
        (2 * S, 10 * S, None, 8 * S),
        (20 * S, 10 * S, None, 2 * S),  # longer than usual already
        (20 * S, None, None, None),
        (20 * S, 10 * S, 25, 60 * S),  # what it says itself counts
        (20 * S, 10 * S, 100, 0),
        (20 * S, 30 * S, 0, 10 * S),
    ],
)
def test_how_long_a_running_command_will_go_on(
    elapsed: int, usual: int | None, progress: int | None, left: int | None
) -> None:
    assert remaining_ms(elapsed, usual, progress) == left


@pytest.mark.parametrize(
    ("ms", "text"),
    [(300, "1s"), (9_900, "9s"), (65 * S, "1m5s"), (725 * S, "12m"), (37 * 3_600 * S + 5 * S, "1d13h")],
)
def test_an_estimate_is_not_told_more_exactly_than_it_is(ms: int, text: str) -> None:
    assert roughly(ms) == text
