"""How long a failed job waits: growth, cap, jitter."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queuectl.core.backoff import EXPONENTIAL, FIXED, LINEAR, STRATEGIES, Backoff, delay_ms

HOUR = 3_600_000


def backoff(strategy: str = EXPONENTIAL, **values: float) -> Backoff:
    return Backoff(
        strategy=strategy,
        base=values.get("base", 2.0),
        delay=int(values.get("delay", 5_000)),
        longest=int(values.get("longest", HOUR)),
        jitter=values.get("jitter", 0.0),
    )


policies = st.builds(
    Backoff,
    strategy=st.sampled_from(STRATEGIES),
    base=st.floats(0.001, 1_000_000),
    delay=st.integers(0, 10**10),
    longest=st.integers(0, 10**12),
    jitter=st.floats(0, 1),
)
randoms = st.floats(0, 1, exclude_max=True)


@pytest.mark.parametrize(
    ("policy", "delays"),
    [
        (backoff(), [2_000, 4_000, 8_000, 16_000]),
        (backoff(base=3), [3_000, 9_000, 27_000]),
        (backoff(base=1.5), [1_500, 2_250, 3_375]),
        (backoff(base=1), [1_000, 1_000, 1_000]),
        (backoff(base=0.5), [500, 250, 125]),
        (backoff(longest=5_000), [2_000, 4_000, 5_000, 5_000]),
        (backoff(LINEAR), [5_000, 10_000, 15_000]),
        (backoff(LINEAR, longest=12_000), [5_000, 10_000, 12_000]),
        (backoff(FIXED), [5_000, 5_000, 5_000]),
        (backoff(FIXED, delay=0), [0, 0]),
    ],
)
def test_the_wait_after_each_failed_run(policy: Backoff, delays: list[int]) -> None:
    assert [delay_ms(policy, n) for n in range(1, len(delays) + 1)] == delays


@pytest.mark.parametrize("attempt", [64, 1_024, 10_000, 1_000_000])
@pytest.mark.parametrize("base", [1.1, 2.0, 1_000_000.0])
def test_a_power_beyond_all_numbers_is_the_longest_wait(base: float, attempt: int) -> None:
    assert delay_ms(backoff(base=base, longest=1), attempt) == 1
    assert delay_ms(backoff(base=base, jitter=0.5), 1_000_000, random=0.999) <= HOUR


@settings(deadline=None)
@given(policies, st.integers(1, 10_000), randoms)
def test_no_wait_is_negative_or_longer_than_the_longest(
    policy: Backoff, failures: int, random: float
) -> None:
    assert 0 <= delay_ms(policy, failures, random) <= policy.longest


@settings(deadline=None)
@given(st.floats(1, 1_000_000), st.integers(0, 10**12), st.integers(1, 5_000))
def test_exponential_waits_never_shrink(base: float, longest: int, failures: int) -> None:
    policy = backoff(base=base, longest=longest)
    assert delay_ms(policy, failures) <= delay_ms(policy, failures + 1)


@settings(deadline=None)
@given(st.integers(1, 11), st.floats(0, 1), randoms)
def test_jitter_stays_within_its_fraction(failures: int, jitter: float, random: float) -> None:
    plain = delay_ms(backoff(), failures)
    spread = delay_ms(backoff(jitter=jitter), failures, random)
    assert plain * (1 - jitter) - 1 <= spread <= plain * (1 + jitter) + 1


def test_jitter_reaches_both_sides() -> None:
    policy = backoff(jitter=0.5)
    assert delay_ms(policy, 1, random=0.0) == 1_000
    assert delay_ms(policy, 1, random=0.5) == 2_000
    assert delay_ms(policy, 1, random=0.999_999) == 3_000
