"""What queues and workers lay down for a claim: concurrency, rate, pauses, order, weights, resources."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
from tests.support.jobs import (
    NOW,
    add,
    claim,
    claim_one,
    finish_with,
    fresh_claim,
    get,
    ids,
    put,
    register,
    report,
)

from queuectl.core import outcome as kinds
from queuectl.store.messages import Ask

if TYPE_CHECKING:
    from tests.support.stores import Engine

    from queuectl.store.api import Store


@pytest.fixture(autouse=True)
def _worker(store: Store) -> None:
    register(store)


def rule(store: Store, queue: str = "default", **changes: Any) -> None:
    store.queues().set(queue, changes, NOW)


class TestConcurrency:
    def test_no_more_than_that_run_at_once(self, store: Store) -> None:
        rule(store, concurrency=2)
        add(store, "a", "b", "c")
        jobs = claim(store, 10)
        assert ids(jobs) == ["a", "b"]
        assert claim(store, 10) == []
        finish_with(store, jobs[0], kinds.SUCCEEDED)
        assert ids(claim(store, 10)) == ["c"]

    def test_other_queues_do_not_mind(self, store: Store) -> None:
        rule(store, concurrency=1)
        add(store, "a", "b")
        add(store, "c", "d", queue="other")
        assert sorted(ids(claim(store, 10))) == ["a", "c", "d"]

    def test_of_the_room_half_is_claimed_ahead_at_most(self, store: Store) -> None:
        """Or a worker with one slot would keep places that others could use."""
        rule(store, concurrency=5)
        add(store, *"abcdef")
        assert ids(claim(store, 10, free_slots=1)) == ["a", "b"]
        assert ids(claim(store, 10, free_slots=0)) == ["c"]
        assert ids(claim(store, 10, free_slots=0)) == ["d"]
        assert claim(store, 10, free_slots=0) == []  # the last place is for who can use it now
        assert ids(claim(store, 10, free_slots=1)) == ["e"]

    def test_a_result_makes_room_in_the_same_exchange(self, store: Store) -> None:
        rule(store, concurrency=1)
        add(store, "a", "b")
        job = claim_one(store)
        answer = store.exchange("w1", "host1", [report(job)], Ask("w1", "next", 5), NOW)
        assert ids(answer.jobs) == ["b"]

    def test_many_workers_at_once_keep_to_it(self, store: Store, engine: Engine) -> None:
        rule(store, concurrency=3)
        add(store, *(f"j{n}" for n in range(40)))
        connections = [engine.open() for _ in range(4)]
        for n in range(4):
            register(store, f"v{n}")

        def take(n: int) -> int:
            return len(claim(connections[n], 10, worker_id=f"v{n}"))

        with ThreadPoolExecutor(4) as pool:
            assert sum(pool.map(take, range(4))) == 3

    def test_also_for_who_wants_one_job_only(self, store: Store) -> None:
        """`run` without a worker."""
        rule(store, concurrency=1)
        add(store, "a", "b")
        second = get(store, "b").seq
        first = claim_one(store)
        assert claim(store, 1, only=second) == []
        finish_with(store, first, kinds.SUCCEEDED)
        assert ids(claim(store, 1, only=second)) == ["b"]


class TestRate:
    def test_so_many_per_time(self, store: Store) -> None:
        rule(store, rate="60/min", burst=2)
        add(store, *"abcdef")
        answer = store.exchange("w1", "host1", [], Ask("w1", fresh_claim(), 10), NOW)
        assert ids(answer.jobs) == ["a", "b"]
        assert answer.next_due is not None
        assert NOW < answer.next_due <= NOW + 1_000
        assert claim(store, 10, now=answer.next_due - 200) == []
        assert ids(claim(store, 10, now=answer.next_due)) == ["c"]
        assert len(claim(store, 10, now=NOW + 60_000)) == 2

    def test_also_for_who_wants_one_job_only(self, store: Store) -> None:
        rule(store, rate="60/min", burst=1)
        add(store, "a", "b")
        assert ids(claim(store, 1, only=get(store, "b").seq)) == ["b"]
        answer = store.exchange("w1", "host1", [], Ask("w1", fresh_claim(), 1, only=get(store, "a").seq), NOW)
        assert (answer.jobs, answer.next_due) == ([], NOW + 1_000)
        assert ids(claim(store, 1, now=NOW + 1_000, only=get(store, "a").seq)) == ["a"]

    def test_over_a_minute_it_is_that_many(self, store: Store) -> None:
        rule(store, rate="120/min", burst=1)
        add(store, *(f"j{n}" for n in range(300)))
        started = sum(len(claim(store, 10, now=NOW + step * 250)) for step in range(241))
        assert 115 <= started <= 125


class TestPause:
    def test_nothing_is_handed_out_until_it_ends(self, store: Store) -> None:
        add(store, "a")
        add(store, "b", queue="other")
        store.queues().pause("default", reason="upgrade", until=NOW + 5_000, now=NOW)
        answer = store.exchange("w1", "host1", [], Ask("w1", fresh_claim(), 10), NOW)
        assert (ids(answer.jobs), answer.next_due) == (["b"], NOW + 5_000)
        assert ids(claim(store, 10, now=NOW + 5_000)) == ["a"]

    def test_until_somebody_resumes_it(self, store: Store) -> None:
        add(store, "a")
        store.queues().pause("default", reason=None, until=None, now=NOW)
        assert claim(store, 10, now=NOW + 10**9) == []
        store.queues().resume("default", NOW)
        assert ids(claim(store, 10)) == ["a"]


class TestSeveralQueues:
    def test_in_the_order_of_the_list(self, store: Store) -> None:
        add(store, "l1", "l2", queue="low", priority=9)
        add(store, "h1", queue="high")
        assert ids(claim(store, 2, queues=("high", "low"))) == ["h1", "l1"]

    def test_by_weight(self, store: Store) -> None:
        add(store, *(f"a{n}" for n in range(80)), queue="a")
        add(store, *(f"b{n}" for n in range(80)), queue="b")
        random.seed(1)  # the store draws lots
        taken = [claim_one(store, queues=("b", "a"), weights=(1, 3)).queue for _ in range(80)]
        assert 50 <= taken.count("a") <= 70  # 60 on average

    def test_what_one_queue_lacks_another_gives(self, store: Store) -> None:
        add(store, "b1", "b2", queue="b")
        assert ids(claim(store, 2, queues=("a", "b"), weights=(9, 1))) == ["b1", "b2"]


class TestResources:
    def test_only_who_has_them_gets_such_jobs(self, store: Store) -> None:
        put(store, "g", needs="gpu=1")
        put(store, "plain")
        assert ids(claim(store, 10)) == ["plain"]
        assert claim(store, 10, free={"license": 5}) == []
        assert ids(claim(store, 10, free={"gpu": 1})) == ["g"]

    def test_no_more_than_there_are(self, store: Store) -> None:
        for n in range(4):
            put(store, f"g{n}", needs="gpu=1")
        put(store, "big", needs="gpu=2", priority=5)
        assert ids(claim(store, 10, free={"gpu": 3})) == ["big", "g0"]

    def test_the_order_is_that_of_all_jobs(self, store: Store) -> None:
        put(store, "plain", priority=1)
        put(store, "g", needs="gpu=1", priority=2)
        put(store, "last")
        assert ids(claim(store, 10, free={"gpu": 1})) == ["g", "plain", "last"]

    def test_in_any_queue_or_the_named_ones(self, store: Store) -> None:
        put(store, "g", needs="gpu=1", queue="render")
        put(store, "h", needs="gpu=1,license=1", queue="other")
        free = {"gpu": 2, "license": 1}
        assert ids(claim(store, 10, free=free, queues=("render",))) == ["g"]
        assert ids(claim(store, 10, free=free)) == ["h"]
