"""Why jobs died, and which jobs share a cause; ids by their beginning; jobs by their numbers."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.jobs import NOW, add, claim_one, finish_with, get, ids, job_in, register

from queuectl.core import outcome as kinds
from queuectl.core import states
from queuectl.store.messages import JobFilter

ERROR = "it's 100% \\ \"odd\" — ünïcode ; -- '"


def die(
    store: Any, id: str, *, queue: str = "default", at: int = NOW, kind: str = kinds.FAILED, **how: Any
) -> None:
    add(store, id, queue=queue, max_retries=0, now=at)
    job = claim_one(store, now=at, only=get(store, id).seq)
    assert finish_with(store, job, kind, now=at, **how).state == states.DEAD


@pytest.fixture
def graves(store: Any) -> Any:
    register(store)
    for number in range(3):
        die(
            store,
            f"one{number}",
            queue=("a", "b", "a")[number],
            at=NOW + number,
            exit_code=1,
            error="exit code 1",
        )
    die(store, "two", at=NOW + 9, exit_code=2, error="exit code 2")
    die(store, "odd", exit_code=2, error=ERROR)
    die(store, "killed", exit_code=None, signal=9, error="killed by KILL")
    job_in(store, states.COMPLETED, "well")
    job_in(store, states.FAILED, "again")
    return store


def test_the_dead_are_grouped_by_how_they_ended(graves: Any) -> None:
    first, *others = graves.causes()
    assert first.cause == (1, None, "exit code 1")
    assert (first.count, first.queues, first.first_at, first.last_at) == (3, ["a", "b"], NOW, NOW + 2)
    assert ids(graves.by_numbers([first.example])) == ["one2"]
    assert {one.cause: (one.count, one.queues) for one in others} == {
        (2, None, "exit code 2"): (1, ["default"]),
        (2, None, ERROR): (1, ["default"]),
        (None, 9, "killed by KILL"): (1, ["default"]),
    }


def test_of_one_queue_only(graves: Any) -> None:
    (found,) = graves.causes("a")
    assert (found.cause, found.count, found.queues) == ((1, None, "exit code 1"), 2, ["a"])
    assert graves.causes("nobody") == []


def test_the_jobs_of_a_cause_are_those_that_were_counted(graves: Any) -> None:
    for found in graves.causes():
        filter = JobFilter(states=(states.DEAD,), cause=found.cause)
        page = graves.page(filter, limit=100)
        assert len(page) == graves.count(filter) == found.count
        assert {(job.exit_code, job.signal, job.last_error) for job in page} == {found.cause}
        assert sorted({job.queue for job in page}) == found.queues
        narrower = filter.replaced(queue=found.queues[0], ids=tuple(ids(page)))
        assert narrower.cause == found.cause
        assert graves.count(narrower) == sum(job.queue == found.queues[0] for job in page)


def test_a_cause_is_not_the_cause_of_others(graves: Any) -> None:
    for cause in (
        (1, None, None),
        (1, 9, "exit code 1"),
        (None, None, "exit code 1"),
        (1, None, "exit code"),
    ):
        assert graves.count(JobFilter(states=(states.DEAD,), cause=cause)) == 0, cause


def test_jobs_of_one_cause_are_run_again_and_no_others(graves: Any) -> None:
    filter = JobFilter(states=(states.DEAD,), cause=(2, None, ERROR))
    graves.retry(filter, NOW + 50, sources=(states.DEAD,))
    assert get(graves, "odd").state == states.PENDING
    assert len(graves.page(JobFilter(states=(states.DEAD,)), limit=100)) == 5
    graves.remove(JobFilter(cause=(1, None, "exit code 1")), sources=states.REMOVABLE, limit=100)
    assert sorted(ids(graves.page(JobFilter(states=(states.DEAD,)), limit=100))) == ["killed", "two"]


def test_a_filter_with_changes_keeps_the_rest() -> None:
    one = JobFilter(
        ids=("x",),
        states=("dead",),
        queue="q",
        tag="t",
        text="s",
        created_after=1,
        created_before=2,
        held=True,
        cause=(1, None, "e"),
    )
    other = one.replaced(queue=None)
    assert other.queue is None
    for name in JobFilter.__slots__:
        assert name == "queue" or getattr(other, name) == getattr(one, name)
    assert one.queue == "q"


def test_ids_by_their_beginning(store: Any) -> None:
    add(store, "ab", "abc", "abd", "ab-1", "aB", "b", "a", "ab~")
    assert store.ids_from("ab", limit=10) == ["ab", "ab-1", "abc", "abd", "ab~"]
    assert store.ids_from("ab", limit=2) == ["ab", "ab-1"]
    assert store.ids_from("abc", limit=10) == ["abc"]
    assert store.ids_from("", limit=3) == ["a", "aB", "ab"]
    for nothing in ("c", "ab%", "a_", "é", "abcd", "'"):
        assert store.ids_from(nothing, limit=10) == [], nothing


def test_jobs_by_their_numbers_in_that_order(store: Any) -> None:
    add(store, "a", "b", "c")
    seqs = {id: get(store, id).seq for id in "abc"}
    assert ids(store.by_numbers([seqs["c"], seqs["a"]])) == ["c", "a"]
    assert ids(store.by_numbers([10**9, seqs["b"]])) == ["b"]
    assert store.by_numbers([]) == []
