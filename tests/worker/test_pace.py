"""How many jobs a worker holds: some while they are short, none once they are not."""

from __future__ import annotations

from queuectl.worker.ahead import Pace


def learnt(*seconds: float) -> Pace:
    pace = Pace()
    for each in seconds:
        pace.learn(each)
    return pace


def test_nothing_is_held_before_anything_is_known() -> None:
    assert Pace().ahead(4, 64) == 0


def test_short_jobs_are_held_up_to_the_limit() -> None:
    assert learnt(0.001).ahead(1, 64) == 64
    assert learnt(0.0).ahead(1, 1000) == 200  # no job counts for less than half a millisecond
    assert learnt(0.001).ahead(1, 0) == 0


def test_no_more_is_held_than_a_tenth_of_a_second_of_work() -> None:
    assert learnt(0.01).ahead(1, 64) == 10
    assert learnt(0.01).ahead(4, 64) == 40
    assert learnt(0.05).ahead(1, 64) == 2


def test_long_jobs_are_not_held() -> None:
    assert learnt(0.11).ahead(1, 64) == 0
    assert learnt(5.0).ahead(16, 64) == 0


def test_one_long_job_among_short_ones_slows_it_down() -> None:
    pace = learnt(*[0.002] * 50)
    assert pace.ahead(1, 64) >= 49
    pace.learn(10.0)
    assert pace.ahead(1, 64) == 0


def test_short_jobs_bring_it_back() -> None:
    pace = learnt(1.0)
    for _ in range(40):
        pace.learn(0.002)
    assert pace.ahead(1, 64) > 30


def test_waiting_in_vain_makes_it_hold_none_until_the_next_job_tells() -> None:
    pace = learnt(*[0.001] * 50)
    pace.slow_down()
    assert pace.ahead(1, 64) == 0
    assert pace.ahead(100, 64) == 0
    pace.learn(0.001)
    assert pace.ahead(1, 64) == 64
