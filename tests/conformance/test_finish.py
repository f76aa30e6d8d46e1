"""Taking results back: each verdict, the fence, repeats. Claims given back: test_give_back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.support.jobs import (
    HOST,
    NOW,
    add,
    claim,
    claim_one,
    finish,
    finish_with,
    fresh_claim,
    get,
    ids,
    register,
    report,
    snapshot,
)

from queuectl.core import outcome as kinds
from queuectl.core import states
from queuectl.store.messages import Ask, JobFilter

if TYPE_CHECKING:
    from queuectl.store.api import Store


@pytest.fixture(autouse=True)
def _worker(store: Store) -> None:
    register(store)


def test_success_is_completed_and_clean(store: Store) -> None:
    add(store, "a")
    job = finish_with(store, claim_one(store), kinds.SUCCEEDED, now=NOW + 9)
    assert (job.state, job.exit_code, job.last_error) == ("completed", 0, None)
    assert (job.finished_at, job.updated_at, job.started_at) == (NOW + 9, NOW + 9, NOW)
    assert (job.claim, job.worker_id, job.attempts, job.runs) == (None, None, 1, 1)


@pytest.mark.parametrize("kind", [kinds.FAILED, kinds.TIMEOUT, kinds.SPAWN_ERROR])
def test_a_failure_waits_for_its_retry(store: Store, kind: str) -> None:
    add(store, "a")
    job = finish_with(store, claim_one(store), kind, signal=15, exit_code=None)
    assert (job.state, job.run_at, job.finished_at) == ("failed", NOW + 2_000, None)
    assert (job.signal, job.exit_code, job.last_error) == (15, None, kind)
    assert (job.claim, job.worker_id, job.attempts) == (None, None, 1)


def test_a_failure_without_a_retry_left_is_dead(store: Store) -> None:
    add(store, "a", max_retries=0)
    job = finish_with(store, claim_one(store), kinds.FAILED, now=NOW + 3)
    assert (job.state, job.finished_at, job.exit_code) == ("dead", NOW + 3, 1)


def test_three_retries_are_four_runs_and_then_dead(store: Store) -> None:
    add(store, "fail1", max_retries=3)
    now, waits = NOW, []
    for _ in range(4):
        job = finish_with(store, claim_one(store, now=now), kinds.FAILED, now=now)
        waits.append(job.run_at - now if job.state == states.FAILED else None)
        now = job.run_at
    assert waits == [2_000, 4_000, 8_000, None]
    assert (job.state, job.attempts, job.runs) == ("dead", 4, 4)
    assert [attempt.attempt for attempt in store.attempts(job.seq)] == [1, 2, 3, 4]


def test_success_after_a_failure_forgets_the_error_but_not_the_attempt(store: Store) -> None:
    add(store, "a")
    finish_with(store, claim_one(store), kinds.FAILED, signal=9)
    job = finish_with(store, claim_one(store, now=NOW + 2_000), kinds.SUCCEEDED)
    assert (job.state, job.last_error, job.signal, job.exit_code) == ("completed", None, None, 0)
    assert [attempt.outcome for attempt in store.attempts(job.seq)] == ["failed", "succeeded"]


def test_a_cancelled_attempt_is_cancelled(store: Store) -> None:
    add(store, "a")
    job = finish_with(store, claim_one(store), kinds.CANCELLED)
    assert (job.state, job.finished_at, job.attempts) == ("cancelled", NOW, 1)


def test_a_lost_job_is_ready_again_and_the_loss_is_counted(store: Store) -> None:
    add(store, "a")
    job = finish_with(store, claim_one(store), kinds.LOST)
    assert (job.state, job.attempts, job.lost, job.runs) == ("pending", 1, 1, 1)
    assert [attempt.outcome for attempt in store.attempts(job.seq)] == ["lost"]


def test_everything_about_an_attempt_is_recorded(store: Store) -> None:
    add(store, "a")
    details = {
        "exit_code": None,
        "signal": 9,
        "error": "killed ✗",
        "cpu_ms": 12,
        "max_rss_kb": 34_567,
        "output": bytes(range(256)),
        "output_bytes": 256,
        "output_dropped": 7,
        "log": "2c/300-2.log",
    }
    job = finish_with(store, claim_one(store), kinds.FAILED, now=NOW + 5, **details)
    (attempt,) = store.attempts(job.seq)
    assert {name: getattr(attempt, name) for name in details} == details
    assert (attempt.run, attempt.attempt, attempt.worker_id, attempt.host) == (1, 1, "w1", HOST)
    assert (attempt.started_at, attempt.finished_at, attempt.outcome) == (NOW, NOW + 5, "failed")


@pytest.mark.parametrize("late", [kinds.SUCCEEDED, kinds.FAILED, kinds.CANCELLED, kinds.RELEASED])
def test_a_result_for_a_lost_claim_changes_nothing(store: Store, late: str) -> None:
    add(store, "a")
    first = claim_one(store)
    finish_with(store, first, kinds.LOST)
    second = claim_one(store)
    kept = snapshot(store)
    too_late = report(first, late)
    assert finish(store, too_late) == [too_late]
    assert snapshot(store) == kept
    assert finish_with(store, second, kinds.SUCCEEDED).state == states.COMPLETED


@pytest.mark.parametrize("late", [kinds.SUCCEEDED, kinds.FAILED])
def test_a_result_is_late_also_before_anybody_claimed_the_job_again(store: Store, late: str) -> None:
    """The rescuer's record of the same claim must not be taken for the worker's own."""
    add(store, "a")
    first = claim_one(store)
    finish_with(store, first, kinds.LOST)
    kept = snapshot(store)
    too_late = report(first, late)
    assert finish(store, too_late) == [too_late]
    assert snapshot(store) == kept


def test_a_rescue_of_a_job_that_finished_meanwhile_changes_nothing(store: Store) -> None:
    add(store, "a")
    job = claim_one(store)
    finish_with(store, job, kinds.SUCCEEDED)
    kept = snapshot(store)
    rescue = report(job, kinds.LOST, now=NOW + 1)
    assert finish(store, rescue) == [rescue]
    assert snapshot(store) == kept


def test_a_result_for_a_removed_job_is_late(store: Store) -> None:
    add(store, "a")
    job = claim_one(store)
    finish_with(store, job, kinds.CANCELLED)
    store.remove(JobFilter(ids=("a",)), sources=states.REMOVABLE, limit=1)
    again = report(job)
    assert finish(store, again) == [again]
    assert store.get("a") is None


def test_a_token_is_no_key_to_another_job(store: Store) -> None:
    add(store, "a", "b")
    first, second = claim(store, 2)
    assert first.claim == second.claim
    finish_with(store, first, kinds.SUCCEEDED)
    assert get(store, "b").state == states.PROCESSING
    assert finish_with(store, second, kinds.FAILED).state == states.FAILED


@pytest.mark.parametrize(
    "kind",
    [
        kinds.SUCCEEDED,
        kinds.FAILED,
        kinds.TIMEOUT,
        kinds.SPAWN_ERROR,
        kinds.CANCELLED,
        kinds.LOST,
        kinds.RELEASED,
    ],
)
def test_a_report_repeated_after_an_unknown_commit_is_accepted_and_counts_once(
    store: Store, kind: str
) -> None:
    add(store, "a")
    verdict = report(claim_one(store), kind)
    assert finish(store, verdict) == []
    kept = snapshot(store)
    assert finish(store, verdict, now=NOW + 1_000) == []
    assert snapshot(store) == kept


def test_a_repeat_is_accepted_even_when_the_job_has_moved_on(store: Store) -> None:
    add(store, "a")
    verdict = report(claim_one(store), kinds.FAILED)
    finish(store, verdict)
    claim_one(store, now=NOW + 2_000)
    kept = snapshot(store)
    assert finish(store, verdict) == []
    assert snapshot(store) == kept


def test_in_a_mixed_batch_the_good_ones_count_and_the_late_ones_come_back(store: Store) -> None:
    add(store, *"abcdef")
    a, b, c, d, e, f = claim(store, 6)
    finish(store, report(b, kinds.LOST))
    repeated = report(d, kinds.FAILED)
    finish(store, repeated)
    late = report(b)
    batch = [
        report(a),
        late,
        report(c, kinds.FAILED),
        repeated,
        report(e, kinds.UNSTARTED),
        report(f),
    ]
    assert finish(store, *batch) == [late]
    found = {id: get(store, id).state for id in "abcdef"}
    assert found == {
        "a": "completed",
        "b": "pending",
        "c": "failed",
        "d": "failed",
        "e": "pending",
        "f": "completed",
    }
    assert [len(store.attempts(job.seq)) for job in (a, b, c, d, e, f)] == [1, 1, 1, 1, 0, 1]


def test_late_results_do_not_keep_the_worker_from_new_work(store: Store) -> None:
    add(store, "a", "b")
    first = claim_one(store)
    finish_with(store, first, kinds.LOST)
    late = report(first)
    answer = store.exchange("w1", HOST, [late], Ask("w1", fresh_claim(), 5), NOW)
    assert (answer.stale, ids(answer.jobs)) == ([late], ["a", "b"])


def test_no_reports_are_no_error(store: Store) -> None:
    assert finish(store) == []


def test_a_thousand_results_at_once(store: Store) -> None:
    add(store, *(f"j{n:04d}" for n in range(1_000)))
    jobs = claim(store, 1_000)
    assert finish(store, *(report(job) for job in jobs)) == []
    assert store.count(JobFilter(states=("completed",))) == 1_000
