"""Limits hold however many processes claim at once: concurrency, rate, groups, unique keys."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest
from tests.concurrency.crew import run_together
from tests.concurrency.limited import keyed_enqueuer, sampler, starter
from tests.concurrency.roles import now
from tests.support.engines import Place
from tests.support.jobs import described, new_job

pytestmark = pytest.mark.long

SAMPLES = 7_000  # on each of the three engines


def samples_of(place: Place) -> tuple[int, int]:
    crew = [(sampler, (place, f"w{n}", SAMPLES // 4)) for n in range(4)]
    seen = run_together(crew)
    return sum(looks for looks, _ in seen), max(most for _, most in seen)


def test_the_concurrency_of_a_queue_is_never_exceeded(place: Place) -> None:
    store = place.open()
    store.queues().set("default", {"concurrency": 3}, now())
    store.enqueue([[new_job(f"j{n}") for n in range(3_000)]], now())
    store.close()
    looks, most = samples_of(place)
    assert looks >= SAMPLES
    assert most == 3


def test_the_limit_of_a_group_is_never_exceeded(place: Place) -> None:
    store = place.open()
    jobs = [described(f"j{n}", group=f"g{n % 2}", group_limit=2) for n in range(1_000)]
    store.enqueue([jobs], now())
    store.close()
    crew = [(sampler, (place, f"w{n}", 400)) for n in range(4)]
    assert max(most for _, most in run_together(crew)) <= 4  # two groups of two


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
