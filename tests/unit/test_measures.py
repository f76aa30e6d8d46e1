"""Durations in classes: where each belongs, and how near a percentile comes to the true one."""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from queuectl.core.measures import (
    RUN,
    WAIT,
    class_of,
    classes,
    kind_of_class,
    lower_bound,
    percentile,
    sum_kind,
)

LONGEST = lower_bound(80)
durations = st.one_of(st.integers(0, 50), st.integers(0, 10**6), st.integers(0, LONGEST - 1))


@given(durations)
def test_a_duration_is_within_the_bounds_of_its_class(ms: int) -> None:
    number = class_of(ms)
    assert lower_bound(number) <= ms < lower_bound(number + 1)


@given(st.integers(0, 80))
def test_the_shortest_of_a_class_belongs_to_it(number: int) -> None:
    assert class_of(lower_bound(number)) == number


@given(durations, durations)
def test_what_takes_longer_is_never_in_a_lower_class(one: int, other: int) -> None:
    assert (class_of(one) <= class_of(other)) or one > other


def test_bounds_grow_by_half_at_most() -> None:
    bounds = [lower_bound(number) for number in range(2, 82)]
    assert all(1 < high / low <= 1.5 for low, high in pairwise(bounds))


def test_what_no_clock_should_say() -> None:
    assert class_of(-5) == 0
    assert class_of(10**30) == 80


def test_a_kind_fits_the_column_of_every_engine() -> None:
    assert max(len(kind_of_class(what, 80)) for what in (WAIT, RUN)) <= 16
    assert max(len(sum_kind(what)) for what in (WAIT, RUN)) <= 16


@given(st.lists(durations, min_size=1, max_size=200), st.sampled_from([0.01, 0.5, 0.9, 0.95, 0.99, 1.0]))
def test_a_percentile_is_within_a_factor_of_the_true_one(found: list[int], share: float) -> None:
    counts = Counter(map(class_of, found))
    true = sorted(found)[math.ceil(share * len(found)) - 1] / 1000
    told = percentile(counts, share)
    assert told is not None
    rounding = 0.00005
    assert true / 1.5 - rounding <= told <= true * 1.5 + rounding


@given(st.lists(durations, min_size=1, max_size=50))
def test_a_higher_share_is_never_shorter(found: list[int]) -> None:
    counts = Counter(map(class_of, found))
    told = [percentile(counts, share) or 0.0 for share in (0.1, 0.5, 0.95, 1.0)]
    assert told == sorted(told)


def test_short_ones_are_told_exactly() -> None:
    assert [percentile({class_of(ms): 3}, 0.5) for ms in (0, 1, 2, 3)] == [0.0, 0.001, 0.002, 0.003]


def test_of_nothing_there_is_no_percentile() -> None:
    assert percentile({}, 0.5) is None
    assert percentile({3: 0}, 0.5) is None


def test_classes_are_read_out_of_all_that_was_counted() -> None:
    amounts = {
        kind_of_class(WAIT, 0): 1,
        kind_of_class(WAIT, 17): 2,
        kind_of_class(RUN, 5): 3,
        sum_kind(WAIT): 900,
        "completed": 4,
        "waiting 3": 5,
        "depth dead": 6,
    }
    assert classes(WAIT, amounts) == {0: 1, 17: 2}
    assert classes(RUN, amounts) == {5: 3}
