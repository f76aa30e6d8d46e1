"""What a person asks for: cancel, retry, remove, purge; each only from the states that allow it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.support.jobs import (
    EVERYTHING,
    NOW,
    REACHABLE,
    add,
    claim,
    claim_one,
    finish_with,
    get,
    ids,
    job_in,
    register,
    snapshot,
)

from queuectl.core import outcome as kinds
from queuectl.core import states
from queuectl.store.messages import JobFilter

if TYPE_CHECKING:
    from queuectl.store.api import Store

J = JobFilter(ids=("j",))
LATER = NOW + 60_000


@pytest.fixture(autouse=True)
def _worker(store: Store) -> None:
    register(store)


@pytest.mark.parametrize("state", sorted(set(states.CANCELLABLE) & set(REACHABLE)))
def test_a_waiting_job_is_cancelled_at_once(store: Store, state: str) -> None:
    before = job_in(store, state)
    assert store.cancel(J, LATER) == (1, 0)
    job = get(store, "j")
    assert (job.state, job.finished_at, job.updated_at) == ("cancelled", LATER, LATER)
    assert job.last_error == "cancelled while it waited"
    assert job.attempts == before.attempts
    assert claim(store, 5, now=LATER * 2) == []


def test_a_running_job_is_asked_to_end_and_stays_its_workers(store: Store) -> None:
    job_in(store, states.PROCESSING)
    assert store.cancel(J, LATER) == (0, 1)
    job = get(store, "j")
    assert (job.state, job.cancel_requested, job.worker_id) == ("processing", 1, "w1")
    assert store.cancel(J, LATER) == (0, 1), "asking twice is harmless"


@pytest.mark.parametrize("state", states.TERMINAL)
def test_a_job_that_has_ended_cannot_be_cancelled(store: Store, state: str) -> None:
    job_in(store, state)
    kept = snapshot(store)
    assert store.cancel(J, LATER) == (0, 0)
    assert snapshot(store) == kept


def test_cancel_takes_all_that_match_and_nothing_else(store: Store) -> None:
    add(store, "a", "b", queue="mail")
    add(store, "c")
    claim_one(store, queues=("mail",))
    assert store.cancel(JobFilter(queue="mail"), NOW) == (1, 1)
    assert store.cancel(JobFilter(queue="mail", states=("pending",)), NOW) == (0, 0)
    assert get(store, "c").state == states.PENDING
    assert store.cancel(JobFilter(ids=("missing",)), NOW) == (0, 0)


@pytest.mark.parametrize("state", states.RETRYABLE)
def test_a_retry_starts_afresh(store: Store, state: str) -> None:
    before = job_in(store, state)
    assert store.retry(J, LATER, sources=states.RETRYABLE) == 1
    job = get(store, "j")
    assert (job.state, job.attempts, job.lost) == ("pending", 0, 0)
    assert (job.run_at, job.updated_at, job.finished_at) == (LATER, LATER, None)
    assert (job.last_error, job.cancel_requested) == (None, 0)
    assert (job.runs, job.created_at) == (before.runs, before.created_at)
    assert len(store.attempts(job.seq)) == before.runs, "what happened stays known"


@pytest.mark.parametrize("state", sorted(set(REACHABLE) - set(states.RETRYABLE)))
def test_nothing_else_can_be_retried(store: Store, state: str) -> None:
    job_in(store, state)
    kept = snapshot(store)
    assert store.retry(J, LATER, sources=states.RETRYABLE) == 0
    assert snapshot(store) == kept


def test_a_retry_can_be_kept_to_the_dead(store: Store) -> None:
    for state in (states.DEAD, states.CANCELLED, states.FAILED):
        job_in(store, state, id=state)
    assert store.retry(EVERYTHING, NOW, sources=(states.DEAD,)) == 1
    assert store.retry(JobFilter(states=("failed",)), NOW, sources=(states.DEAD,)) == 0
    assert [get(store, id).state for id in ("dead", "cancelled", "failed")] == [
        "pending",
        "cancelled",
        "failed",
    ]


def test_a_retried_job_has_its_whole_budget_and_new_numbers_for_its_runs(store: Store) -> None:
    job_in(store, states.DEAD)  # no retries: one run
    store.retry(J, NOW, sources=(states.DEAD,))
    again = claim_one(store)
    assert (again.attempts, again.runs) == (1, 2)
    finish_with(store, again, kinds.FAILED)
    assert [(a.run, a.attempt) for a in store.attempts(again.seq)] == [(1, 1), (2, 1)]


@pytest.mark.parametrize("state", REACHABLE)
def test_only_a_running_job_cannot_be_removed(store: Store, state: str) -> None:
    job = job_in(store, state)
    count, _ = store.remove(J, sources=states.REMOVABLE, limit=10)
    assert count == (0 if state == states.PROCESSING else 1)
    assert (store.get("j") is None) == (state != states.PROCESSING)
    if store.get("j") is None:
        assert list(store.attempts(job.seq)) == []


def test_removing_returns_the_log_files_that_are_left_behind(store: Store) -> None:
    add(store, "a", "b", "c")
    jobs = claim(store, 3)
    for job, log in zip(jobs, ["x.log", None, "z.log"], strict=True):
        finish_with(store, job, kinds.FAILED, log=log)
    second = claim_one(store, now=NOW + 2_000)
    finish_with(store, second, kinds.SUCCEEDED, log="x2.log")
    count, logs = store.remove(JobFilter(ids=("a", "b")), sources=states.REMOVABLE, limit=10)
    assert (count, sorted(logs)) == (2, ["x.log", "x2.log"])
    assert ids(store.page(EVERYTHING, limit=5)) == ["c"]


def test_removing_goes_in_chunks(store: Store) -> None:
    add(store, *(f"j{n}" for n in range(5)))
    counts = [store.remove(EVERYTHING, sources=states.REMOVABLE, limit=2)[0] for _ in range(4)]
    assert counts == [2, 2, 1, 0]


def test_the_id_of_a_removed_job_is_free_but_its_number_is_not(store: Store) -> None:
    old = job_in(store, states.COMPLETED)
    store.remove(J, sources=states.REMOVABLE, limit=1)
    new = job_in(store, states.COMPLETED)
    assert new.seq > old.seq, "an old log or report must never be taken for the new job's"


@pytest.mark.parametrize("state", states.TERMINAL)
def test_purge_takes_what_ended_in_that_state_before_that_time(store: Store, state: str) -> None:
    for n in range(5):
        job_in(store, state, id=f"{state}{n}", now=NOW + n)
    for other in states.TERMINAL:
        if other != state:
            job_in(store, other, id=other)
    assert store.purge(state, NOW, limit=10) == (0, [])
    assert store.purge(state, NOW + 3, limit=2)[0] == 2
    assert store.purge(state, NOW + 3, limit=2)[0] == 1
    assert store.purge(state, NOW + 3, limit=2)[0] == 0
    assert ids(store.page(JobFilter(states=(state,)), limit=9)) == [f"{state}3", f"{state}4"]
    assert store.count(EVERYTHING) == 4


def test_purge_returns_log_files_and_takes_the_attempts_along(store: Store) -> None:
    add(store, "a")
    job = claim_one(store)
    finish_with(store, job, kinds.SUCCEEDED, log="2c/1-1.log")
    assert store.purge(states.COMPLETED, NOW + 1, limit=10) == (1, ["2c/1-1.log"])
    assert list(store.attempts(job.seq)) == []


def test_purge_never_takes_what_has_not_ended(store: Store) -> None:
    unended = [state for state in REACHABLE if state not in states.TERMINAL]
    for state in unended:
        job_in(store, state, id=state)
    for state in states.ALL:
        assert store.purge(state, NOW * 2, limit=10) == (0, [])
    assert store.count(EVERYTHING) == len(unended)
