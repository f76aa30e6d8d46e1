"""Limits hold however many processes claim at once: concurrency, rate, groups, unique keys."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest
from tests.concurrency.limited import keyed_enqueuer, sampler, starter
from tests.concurrency.roles import now
from tests.support.engines import Place, on_engines
from tests.support.jobs import described, new_job
from tests.support.together import run_together

pytestmark = on_engines(long=["mysql"])
WORKERS = 4
LOOKS = pytest.mark.parametrize("looks", [400, pytest.param(7_000, marks=pytest.mark.long)])


def most_at_once(place: Place, looks: int) -> int:
    """The most jobs that were seen running while four workers claim and finish; looked at so often."""
    seen = run_together([(sampler, (place, f"w{n}", looks // WORKERS)) for n in range(WORKERS)])
    assert sum(taken for taken, _ in seen) >= looks
    return max(most for _, most in seen)


@LOOKS
def test_the_concurrency_of_a_queue_is_never_exceeded(place: Place, looks: int) -> None:
    store = place.open()
    store.queues().set("default", {"concurrency": 3}, now())
    store.enqueue([[new_job(f"j{n}") for n in range(3_000)]], now())
    store.close()
    assert most_at_once(place, looks) == 3


@LOOKS
def test_the_limit_of_a_group_is_never_exceeded(place: Place, looks: int) -> None:
    store = place.open()
    jobs = [described(f"j{n}", group=f"g{n % 2}", group_limit=2) for n in range(1_000)]
    store.enqueue([jobs], now())
    store.close()
    assert most_at_once(place, looks) <= 4  # two groups of two


@pytest.mark.long
def test_the_rate_of_a_queue_holds_over_a_window(place: Place) -> None:
    store = place.open()
    store.queues().set("default", {"rate": "100/s", "burst": 5}, now())
    store.enqueue([[new_job(f"j{n}") for n in range(1_000)]], now())
    store.close()
    told = run_together([(starter, (place, f"w{n}", 4.0)) for n in range(3)])
    started = sorted(moment for moments, _ in told for moment in moments)
    asked = sorted(moment for _, moments in told for moment in moments)
    seconds = (started[-1] - started[0]) / 1000
    assert seconds > 3
    assert len(started) <= 5 + 100 * seconds * 1.05
    # While a busy machine lets nobody ask, the bucket runs over: it holds what comes in 50 ms.
    missed = sum(max(later - earlier - 40, 0) for earlier, later in pairwise(asked)) / 1000
    assert len(started) >= 100 * (seconds - missed) * 0.95


def test_each_unique_key_is_won_by_one_process(place: Place) -> None:
    place.open().close()
    won = run_together([(keyed_enqueuer, (place, f"e{n}", 20)) for n in range(6)])
    assert Counter(key for mine in won for key in mine) == Counter({f"key{n}": 1 for n in range(20)})
