"""Groups: only so many of their jobs run at once; and unique keys: at most one live job has one."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from tests.support.jobs import (
    NOW,
    claim,
    claim_one,
    described,
    finish_with,
    get,
    ids,
    put,
    register,
    report,
    state_of,
)

from queuectl.core import outcome as kinds
from queuectl.core import states
from queuectl.errors import InvalidInput, Refused
from queuectl.store.messages import Ask, JobFilter

if TYPE_CHECKING:
    from tests.support.stores import Engine

    from queuectl.store.api import Store

MANY = 12  # connections at once


@pytest.fixture(autouse=True)
def _worker(store: Store) -> None:
    register(store)


def one(id: str) -> JobFilter:
    return JobFilter(ids=(id,))


class TestGroups:
    def test_one_at_a_time_unless_told_otherwise(self, store: Store) -> None:
        for n in range(3):
            put(store, f"g{n}", group="cust")
        put(store, "other")
        assert ids(claim(store, 10)) == ["g0", "other"]
        assert state_of(store, "g1", "g2") == [states.BLOCKED, states.BLOCKED]

    def test_the_end_of_one_lets_the_next_in_with_the_same_exchange(self, store: Store) -> None:
        for n in range(3):
            put(store, f"g{n}", group="cust")
        job = claim_one(store)
        answer = store.exchange("w1", "host1", [report(job)], Ask("w1", "next", 5), NOW)
        assert ids(answer.jobs) == ["g1"]

    def test_a_limit_holds_and_can_be_raised(self, store: Store) -> None:
        for n in range(6):
            put(store, f"g{n}", group="cust", group_limit=2)
        assert len(claim(store, 10)) == 2
        put(store, "g6", group="cust", group_limit=4)
        assert len(claim(store, 10)) == 2
        put(store, "g7", group="cust")  # says nothing of a limit
        assert claim(store, 10) == []

    def test_the_most_urgent_is_next(self, store: Store) -> None:
        for id, priority in (("a", 0), ("b", 0), ("c", 5)):
            put(store, id, group="cust", priority=priority)
        finish_with(store, claim_one(store), kinds.SUCCEEDED)
        assert ids(claim(store, 10)) == ["c"]

    def test_one_that_waits_for_its_retry_lets_others_pass_and_queues_up_again(self, store: Store) -> None:
        put(store, "a", group="cust")
        put(store, "b", group="cust")
        finish_with(store, claim_one(store), kinds.FAILED)
        job = claim_one(store)
        assert job.id == "b"
        assert claim(store, 10, now=NOW + 60_000) == []
        assert state_of(store, "a") == [states.BLOCKED]
        finish_with(store, job, kinds.SUCCEEDED)
        assert ids(claim(store, 10, now=NOW + 60_000)) == ["a"]

    def test_a_later_one_is_let_in_at_its_time(self, store: Store) -> None:
        put(store, "a", group="cust", delay="1m")
        assert state_of(store, "a") == [states.SCHEDULED]
        assert ids(claim(store, 10, now=NOW + 60_000)) == ["a"]

    @pytest.mark.parametrize("how", ["cancelled", "deleted"])
    def test_one_that_goes_makes_room(self, store: Store, how: str) -> None:
        put(store, "a", group="cust")
        put(store, "b", group="cust")
        if how == "cancelled":
            store.cancel(one("a"), NOW)
        else:
            store.remove(one("a"), sources=states.REMOVABLE, limit=1)
        assert state_of(store, "b") == [states.PENDING]

    def test_a_retried_one_waits_its_turn(self, store: Store) -> None:
        put(store, "a", group="cust")
        put(store, "b", group="cust")
        store.cancel(one("a"), NOW)
        store.retry(one("a"), NOW, sources=states.RETRYABLE)
        assert state_of(store, "a", "b") == [states.BLOCKED, states.PENDING]

    def test_one_that_waits_for_another_job_is_not_let_in(self, store: Store) -> None:
        put(store, "p")
        put(store, "a", group="cust", after="p")
        put(store, "b", group="cust")
        assert state_of(store, "a", "b") == [states.BLOCKED, states.PENDING]
        finish_with(store, claim_one(store), kinds.SUCCEEDED)
        assert state_of(store, "a") == [states.BLOCKED]
        finish_with(store, claim_one(store), kinds.SUCCEEDED)
        assert state_of(store, "a", "b") == [states.PENDING, states.COMPLETED]

    def test_the_rescue_of_a_lost_one_keeps_its_place(self, store: Store) -> None:
        put(store, "a", group="cust")
        put(store, "b", group="cust")
        finish_with(store, claim_one(store), kinds.LOST)
        assert state_of(store, "a", "b") == [states.PENDING, states.BLOCKED]


class TestUniqueKeys:
    def test_a_second_live_one_is_refused(self, store: Store) -> None:
        put(store, "a", unique_key="k")
        with pytest.raises(Refused, match="job a with the unique key 'k' is pending"):
            put(store, "b", unique_key="k")
        assert store.get("b") is None

    def test_skip_leaves_the_new_one_out_and_names_the_other(self, store: Store) -> None:
        put(store, "a", unique_key="k")
        job = described("b", unique_key="k", if_live="skip")
        assert store.enqueue([[job, described("c")]], NOW) == 1
        assert (store.get("b"), job.conditions and job.conditions.instead) == (None, "a")

    def test_replace_cancels_one_that_waits(self, store: Store) -> None:
        put(store, "a", unique_key="k")
        put(store, "b", unique_key="k", if_live="replace")
        assert state_of(store, "a", "b") == [states.CANCELLED, states.PENDING]
        assert get(store, "a").last_error == "replaced by job b"

    def test_replace_does_not_stop_one_that_runs(self, store: Store) -> None:
        put(store, "a", unique_key="k")
        claim_one(store)
        with pytest.raises(Refused, match="runs already"):
            put(store, "b", unique_key="k", if_live="replace")

    @pytest.mark.parametrize("kind", [kinds.SUCCEEDED, kinds.CANCELLED])
    def test_the_key_is_free_when_it_has_ended(self, store: Store, kind: str) -> None:
        put(store, "a", unique_key="k")
        finish_with(store, claim_one(store), kind)
        put(store, "b", unique_key="k")
        assert state_of(store, "b") == [states.PENDING]

    def test_one_that_failed_and_will_be_retried_keeps_it(self, store: Store) -> None:
        put(store, "a", unique_key="k")
        finish_with(store, claim_one(store), kinds.FAILED)
        with pytest.raises(Refused, match="is failed"):
            put(store, "b", unique_key="k")

    def test_an_old_one_cannot_be_retried_beside_a_live_one(self, store: Store) -> None:
        put(store, "a", unique_key="k")
        store.cancel(one("a"), NOW)
        put(store, "b", unique_key="k")
        with pytest.raises(Refused, match="same unique key"):
            store.retry(one("a"), NOW, sources=states.RETRYABLE)
        assert state_of(store, "a", "b") == [states.CANCELLED, states.PENDING]

    def test_the_same_key_twice_in_one_batch(self, store: Store) -> None:
        with pytest.raises(InvalidInput, match="given twice"):
            store.enqueue([[described("a", unique_key="k"), described("b", unique_key="k")]], NOW)
        jobs = [described(id, unique_key="k", if_live="skip") for id in ("a", "b")]
        assert store.enqueue([jobs], NOW) == 1

    def test_of_many_at_once_one_wins(self, engine: Engine) -> None:
        connections = [engine.open() for _ in range(MANY)]

        def enqueue(n: int) -> str:
            try:
                connections[n].enqueue([[described(f"j{n}", unique_key="k")]], NOW)
            except Refused:
                return "refused"
            return "stored"

        with ThreadPoolExecutor(MANY) as pool:
            found = sorted(pool.map(enqueue, range(MANY)))
        assert found == ["refused"] * (MANY - 1) + ["stored"]
        assert connections[0].count(JobFilter()) == 1
