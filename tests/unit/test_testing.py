"""The tools for tests: a clock turned by hand, and waiting for a condition."""

from __future__ import annotations

import pytest

from queuectl.clock import SYSTEM_CLOCK, Clock
from queuectl.testing import FakeClock, wait_until


def test_a_fake_clock_stands_still_until_it_is_told() -> None:
    clock = FakeClock(5_000)
    assert (clock.now(), clock.monotonic()) == (5_000, 0.0)
    assert (clock.now(), clock.monotonic()) == (5_000, 0.0)


def test_advancing_moves_wall_and_monotonic_time_together() -> None:
    clock = FakeClock(5_000)
    clock.advance(1.5)
    assert (clock.now(), clock.monotonic()) == (6_500, 1.5)


@pytest.mark.parametrize("seconds", [3_600, -3_600])
def test_a_jump_of_the_wall_clock_leaves_monotonic_time_alone(seconds: int) -> None:
    clock = FakeClock(10_000_000)
    clock.advance(2)
    clock.jump(seconds)
    assert (clock.now(), clock.monotonic()) == (10_002_000 + seconds * 1_000, 2.0)


def test_it_can_stand_where_a_clock_is_wanted() -> None:
    assert isinstance(FakeClock(), Clock)


def test_the_real_clock_counts_milliseconds_since_1970_and_never_goes_back() -> None:
    assert SYSTEM_CLOCK.now() > 1_700_000_000_000
    first, second = SYSTEM_CLOCK.monotonic(), SYSTEM_CLOCK.monotonic()
    assert first <= second


def test_wait_until_returns_the_first_value_that_counts() -> None:
    values = iter([0, "", None, "done", "later"])
    assert wait_until(lambda: next(values)) == "done"


def test_wait_until_fails_loudly_when_the_time_is_up() -> None:
    with pytest.raises(AssertionError, match=r"waited 0\.01 s for rain"):
        wait_until(lambda: False, timeout=0.01, what="rain")


def test_wait_until_asks_once_even_without_time() -> None:
    assert wait_until(lambda: 1, timeout=0) == 1
