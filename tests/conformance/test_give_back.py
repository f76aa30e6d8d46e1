"""Claims that ended otherwise than by a result: never started, released, or to be stopped."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.support.jobs import (
    NOW,
    add,
    claim,
    claim_one,
    finish,
    finish_with,
    get,
    register,
    report,
)

from queuectl.core import outcome as kinds
from queuectl.core import states
from queuectl.store.messages import JobFilter

if TYPE_CHECKING:
    from queuectl.store.api import Store


@pytest.fixture(autouse=True)
def _worker(store: Store) -> None:
    register(store)


def test_an_unstarted_claim_leaves_no_trace(store: Store) -> None:
    add(store, "a")
    before = get(store, "a")
    job = finish_with(store, claim_one(store, now=NOW + 5), kinds.UNSTARTED, now=NOW + 6)
    for name in set(type(job).__slots__) - {"updated_at"}:
        assert getattr(job, name) == getattr(before, name), name
    assert list(store.attempts(job.seq)) == []


def test_an_unstarted_claim_leaves_what_is_known_of_earlier_attempts(store: Store) -> None:
    add(store, "a")
    failed = finish_with(store, claim_one(store), kinds.FAILED)
    due = failed.run_at
    job = finish_with(store, claim_one(store, now=due), kinds.UNSTARTED, now=due)
    assert (job.state, job.attempts, job.runs) == ("pending", 1, 1)
    assert (job.exit_code, job.last_error, job.started_at) == (1, "failed", failed.started_at)
    again = claim_one(store, now=due)
    assert (again.attempts, again.runs) == (2, 2)
    finish_with(store, again, kinds.SUCCEEDED, now=due)
    assert [(a.run, a.outcome) for a in store.attempts(job.seq)] == [
        (1, "failed"),
        (2, "succeeded"),
    ]


def test_a_released_attempt_is_given_back_and_recorded(store: Store) -> None:
    add(store, "a", max_retries=0)
    job = finish_with(store, claim_one(store), kinds.RELEASED)
    assert (job.state, job.attempts, job.runs) == ("pending", 0, 1)
    (attempt,) = store.attempts(job.seq)
    assert (attempt.run, attempt.attempt, attempt.outcome) == (1, 1, "released")
    again = claim_one(store)
    assert (again.attempts, again.runs) == (1, 2)
    assert finish_with(store, again, kinds.FAILED).state == states.DEAD


@pytest.mark.parametrize("kind", [kinds.FAILED, kinds.TIMEOUT, kinds.LOST, kinds.RELEASED])
@pytest.mark.parametrize("max_retries", [0, 3])
def test_a_request_to_stop_that_the_worker_had_not_heard_is_not_lost(
    store: Store, kind: str, max_retries: int
) -> None:
    add(store, "a", max_retries=max_retries)
    job = claim_one(store)
    store.cancel(JobFilter(ids=("a",)), NOW)
    assert job.cancel_requested == 0, "the worker does not know"
    job = finish_with(store, job, kind, now=NOW + 1)
    assert (job.state, job.finished_at, job.cancel_requested) == ("cancelled", NOW + 1, 0)
    assert (job.attempts, job.last_error, job.claim) == (1, kind, None)
    assert [attempt.outcome for attempt in store.attempts(job.seq)] == [kind]


def test_a_request_to_stop_holds_for_a_claim_that_was_never_started(store: Store) -> None:
    add(store, "a")
    job = claim_one(store)
    store.cancel(JobFilter(ids=("a",)), NOW)
    job = finish_with(store, job, kinds.UNSTARTED)
    assert (job.state, job.attempts, job.runs) == ("cancelled", 0, 0)
    assert list(store.attempts(job.seq)) == []


def test_a_job_that_succeeded_before_it_could_be_stopped_is_completed(store: Store) -> None:
    add(store, "a")
    job = claim_one(store)
    store.cancel(JobFilter(ids=("a",)), NOW)
    job = finish_with(store, job, kinds.SUCCEEDED)
    assert (job.state, job.cancel_requested) == ("completed", 0)


def test_an_unheard_request_to_stop_among_others_touches_only_its_job(store: Store) -> None:
    add(store, "a", "b", "c")
    jobs = claim(store, 3)
    store.cancel(JobFilter(ids=("b",)), NOW)
    assert finish(store, *(report(job, kinds.FAILED) for job in jobs)) == []
    assert [get(store, id).state for id in "abc"] == ["failed", "cancelled", "failed"]
