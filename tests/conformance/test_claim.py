"""Handing work out: the right jobs, in the right order, once, and only to the living."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.support.jobs import (
    EVERYTHING,
    HOST,
    NOW,
    REACHABLE,
    add,
    claim,
    claim_one,
    finish_with,
    fresh_claim,
    get,
    ids,
    job_in,
    new_job,
    register,
    report,
    stored_worker,
)

from queuectl.core import outcome as kinds
from queuectl.core import states
from queuectl.core.job import Job
from queuectl.errors import WorkerFenced
from queuectl.store.messages import Ask

if TYPE_CHECKING:
    from tests.support.stores import Engine

    from queuectl.store.api import Store


@pytest.fixture(autouse=True)
def _worker(store: Store) -> None:
    register(store)


def test_a_claim_marks_the_job_as_running_under_its_token(store: Store) -> None:
    add(store, "a")
    wish = Ask("w1", "token", 1)
    (job,) = store.exchange("w1", HOST, [], wish, NOW + 5).jobs
    assert (job.state, job.claim, job.worker_id) == ("processing", "token", "w1")
    assert (job.attempts, job.runs, job.started_at, job.updated_at) == (1, 1, NOW + 5, NOW + 5)


def test_what_is_handed_out_is_what_is_stored(store: Store) -> None:
    add(store, "a", tags=",x,", timeout=5)
    handed = claim_one(store, now=NOW + 7)
    stored = get(store, "a")
    for name in Job.__slots__:
        assert getattr(handed, name) == getattr(stored, name), name


def test_the_order_is_priority_then_due_time_then_first_in_first_out(store: Store) -> None:
    store.enqueue(
        [
            [
                new_job("late-low", run_at=NOW + 20, priority=-1),
                new_job("late", run_at=NOW + 20),
                new_job("early", run_at=NOW + 10),
                new_job("early-2", run_at=NOW + 10),
                new_job("late-high", run_at=NOW + 20, priority=5),
            ]
        ],
        NOW,
    )
    add(store, "now", "now-2")
    assert ids(claim(store, 10, now=NOW + 30)) == [
        "late-high",
        "now",
        "now-2",
        "early",
        "early-2",
        "late",
        "late-low",
    ]


def test_the_order_holds_across_queues(store: Store) -> None:
    for n, queue in enumerate(["b", "a", "c", "a", "b", "c"]):
        add(store, f"{queue}{n}", queue=queue, now=NOW + n)
    add(store, "first", queue="c", priority=1, now=NOW + 9)
    assert ids(claim(store, 10, now=NOW + 10)) == ["first", "b0", "a1", "c2", "a3", "b4", "c5"]


def test_a_limit_takes_the_best_of_all_queues(store: Store) -> None:
    for n in range(4):
        add(store, f"a{n}", queue="a", priority=n)
        add(store, f"b{n}", queue="b", priority=n)
    assert ids(claim(store, 3)) == ["a3", "b3", "a2"]
    assert ids(claim(store, 2)) == ["b2", "a1"]


def test_only_the_named_queues_are_served_in_their_order(store: Store) -> None:
    for queue in ("a", "b", "c"):
        add(store, f"in-{queue}", queue=queue)
    assert ids(claim(store, 10, queues=("c", "a"))) == ["in-c", "in-a"]
    assert claim(store, 10, queues=("missing",)) == []
    assert claim(store, 10, queues=()) == []
    assert ids(claim(store, 10)) == ["in-b"]


def test_a_queue_that_is_named_twice_hands_its_jobs_out_once(store: Store) -> None:
    add(store, "a", "b")
    assert ids(claim(store, 10, queues=("default", "default"))) == ["a", "b"]


def test_one_job_can_be_asked_for_but_only_while_it_is_pending(store: Store) -> None:
    add(store, "a", "b", priority=9)
    wanted = get(store, "b").seq
    assert ids(claim(store, 1, only=wanted)) == ["b"]
    assert claim(store, 1, only=wanted) == []
    assert claim(store, 1, only=999_999) == []
    assert get(store, "a").state == states.PENDING


@pytest.mark.parametrize("limit", [0, -1])
def test_who_asks_for_nothing_gets_nothing(store: Store, limit: int) -> None:
    add(store, "a")
    assert claim(store, limit) == []
    assert store.exchange("w1", HOST, [], None, NOW).jobs == []
    assert get(store, "a").state == states.PENDING


@pytest.mark.parametrize("state", [state for state in REACHABLE if state != states.PENDING])
def test_nothing_but_a_pending_job_is_handed_out(store: Store, state: str) -> None:
    job_in(store, state)
    assert claim(store, 10) == []


def test_no_job_is_handed_out_twice(engine: Engine, store: Store) -> None:
    other = engine.open()
    register(other, "w2")
    add(store, *(f"j{n}" for n in range(10)))
    taken = ids(claim(store, 4)) + ids(claim(other, 4, worker_id="w2")) + ids(claim(store, 4))
    assert sorted(taken) == sorted(set(taken)) == sorted(f"j{n}" for n in range(10))


def test_due_jobs_are_promoted_by_the_exchange_that_wants_them(store: Store) -> None:
    add(store, "later", run_at=NOW + 1_000)
    assert claim(store, 1, now=NOW + 999) == []
    assert get(store, "later").state == states.SCHEDULED
    assert ids(claim(store, 1, now=NOW + 1_000)) == ["later"]


def test_a_failed_job_comes_back_when_its_time_has_come(store: Store) -> None:
    add(store, "a")
    failed = finish_with(store, claim_one(store), kinds.FAILED)
    assert (failed.state, failed.run_at, failed.next_run_at) == ("failed", NOW + 2_000, NOW + 2_000)
    assert claim(store, 1, now=NOW + 1_999) == []
    again = claim_one(store, now=NOW + 2_000)
    assert (again.id, again.attempts, again.runs) == ("a", 2, 2)


def test_a_promoted_job_is_pending_with_its_history(store: Store) -> None:
    job = job_in(store, states.FAILED)
    store.exchange("w1", HOST, [], None, job.run_at)
    job = get(store, job.id)
    assert (job.state, job.updated_at, job.last_error) == ("pending", job.run_at, "failed")


def test_the_answer_says_when_the_next_job_is_due(store: Store) -> None:
    def next_due(limit: int = 5, now: int = NOW) -> int | None:
        return store.exchange("w1", HOST, [], Ask("w1", fresh_claim(), limit), now).next_due

    assert next_due() is None
    assert store.next_due() is None
    add(store, "b", run_at=NOW + 9_000)
    assert next_due() == store.next_due() == NOW + 9_000
    job_in(store, states.FAILED)
    assert next_due() == store.next_due() == NOW + 2_000
    add(store, "c", run_at=NOW + 1_000)
    assert next_due() == store.next_due() == NOW + 1_000
    assert next_due(now=NOW + 2_000) == NOW + 9_000


def test_who_got_all_that_was_asked_for_need_not_know_what_comes_later(store: Store) -> None:
    add(store, "a")
    add(store, "b", run_at=NOW + 1)
    answer = store.exchange("w1", HOST, [], Ask("w1", fresh_claim(), 1), NOW)
    assert (ids(answer.jobs), answer.next_due) == (["a"], None)


def test_has_work_tells_whether_an_exchange_could_bring_something(store: Store) -> None:
    assert not store.has_work(NOW)
    add(store, "later", run_at=NOW + 1_000)
    assert not store.has_work(NOW + 999)
    assert store.has_work(NOW + 1_000)
    add(store, "a")
    assert store.has_work(NOW)
    claim_one(store)
    assert not store.has_work(NOW)


def test_a_dead_worker_gets_nothing_and_its_results_are_not_taken(store: Store) -> None:
    add(store, "a", "b")
    job = claim_one(store)
    assert store.bury(stored_worker(store))
    for reports, ask in (
        ([], Ask("w1", fresh_claim(), 1)),
        ([report(job)], None),
        ([report(job)], Ask("w1", fresh_claim(), 1)),
    ):
        with pytest.raises(WorkerFenced):
            store.exchange("w1", HOST, reports, ask, NOW)
    assert get(store, "a").state == states.PROCESSING
    assert get(store, "b").state == states.PENDING


def test_a_worker_that_nobody_registered_gets_nothing(store: Store) -> None:
    add(store, "a")
    with pytest.raises(WorkerFenced):
        claim(store, 1, worker_id="unknown")
    assert get(store, "a").state == states.PENDING


def test_results_and_the_next_claim_share_one_transaction(store: Store) -> None:
    add(store, "a", "b")
    first = claim_one(store)
    answer = store.exchange("w1", HOST, [report(first)], Ask("w1", fresh_claim(), 1), NOW)
    assert (ids(answer.jobs), answer.stale) == (["b"], [])
    assert get(store, "a").state == states.COMPLETED


def test_a_released_job_can_be_claimed_in_the_same_exchange(store: Store) -> None:
    add(store, "a")
    first = claim_one(store)
    wish = Ask("w1", fresh_claim(), 1)
    (again,) = store.exchange("w1", HOST, [report(first, kinds.RELEASED)], wish, NOW).jobs
    assert (again.id, again.attempts, again.runs) == ("a", 1, 2)
    assert again.claim != first.claim


def test_hundreds_of_queues_are_served_in_one_order(store: Store) -> None:
    jobs = [new_job(f"j{n:03d}", queue=f"q{n * 7 % 300:03d}") for n in range(300)]
    store.enqueue([jobs], NOW)
    assert ids(claim(store, 300)) == [f"j{n:03d}" for n in range(300)]
    assert store.count(EVERYTHING) == 300
