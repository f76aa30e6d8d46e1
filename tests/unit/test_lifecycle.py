"""What becomes of a job after an attempt: retried, dead, cancelled, done or given back."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.jobs import NOW, claimed_job, ended, policy

from queuectl.core import outcome as kinds
from queuectl.core import states
from queuectl.core.lifecycle import decide

FAILURES = (kinds.FAILED, kinds.TIMEOUT, kinds.SPAWN_ERROR)
ALL_KINDS = (
    *FAILURES,
    kinds.SUCCEEDED,
    kinds.CANCELLED,
    kinds.LOST,
    kinds.RELEASED,
    kinds.UNSTARTED,
)


def test_three_retries_are_four_runs_with_delays_of_2_4_and_8_seconds() -> None:
    seen = []
    for attempt in (1, 2, 3, 4):
        job = claimed_job(attempts=attempt, max_retries=3)
        report = decide(job, ended(kinds.FAILED, "exit code 1"), policy(), now=NOW)
        seen.append((report.state, report.run_at - NOW if report.state == states.FAILED else None))
    assert seen == [
        (states.FAILED, 2000),
        (states.FAILED, 4000),
        (states.FAILED, 8000),
        (states.DEAD, None),
    ]


@pytest.mark.parametrize("kind", FAILURES)
@pytest.mark.parametrize(
    ("attempts", "max_retries", "state"),
    [
        (1, 0, states.DEAD),
        (1, 1, states.FAILED),
        (2, 1, states.DEAD),
        (3, 3, states.FAILED),
        (4, 3, states.DEAD),
        (9, 3, states.DEAD),  # max_retries may be lowered under a job
        (1, 1_000_000, states.FAILED),
    ],
)
def test_a_failure_is_retried_while_the_budget_lasts(
    kind: str, attempts: int, max_retries: int, state: str
) -> None:
    job = claimed_job(attempts=attempts, max_retries=max_retries)
    report = decide(job, ended(kind, "why"), policy(), now=NOW)
    assert report.state == state
    assert report.attempts == attempts
    assert report.error == "why"


@pytest.mark.parametrize("attempts", [1, 4])
def test_success_completes_whatever_is_left_of_the_budget(attempts: int) -> None:
    report = decide(claimed_job(attempts=attempts), ended(kinds.SUCCEEDED), policy(), now=NOW)
    assert (report.state, report.attempts) == (states.COMPLETED, attempts)


@pytest.mark.parametrize("kind", [kinds.RELEASED, kinds.UNSTARTED])
@pytest.mark.parametrize("attempts", [1, 4])
def test_what_was_given_back_costs_no_attempt_and_is_ready_at_once(kind: str, attempts: int) -> None:
    job = claimed_job(attempts=attempts, run_at=NOW - 5000, lost=2)
    report = decide(job, ended(kind), policy(), now=NOW)
    assert (report.state, report.attempts) == (states.PENDING, attempts - 1)
    assert (report.run_at, report.lost) == (NOW - 5000, 2)


def test_a_worker_that_dies_once_costs_an_attempt_but_no_wait() -> None:
    report = decide(claimed_job(), ended(kinds.LOST, "its worker died"), policy(), now=NOW)
    assert (report.state, report.attempts, report.lost) == (states.PENDING, 1, 1)


def test_from_the_second_loss_on_the_job_waits_like_any_failure() -> None:
    job = claimed_job(attempts=2, lost=1)
    report = decide(job, ended(kinds.LOST, "its worker died"), policy(), now=NOW)
    assert (report.state, report.lost, report.run_at) == (states.FAILED, 2, NOW + 4000)


def test_a_job_that_kills_its_worker_runs_out_of_attempts_too() -> None:
    job = claimed_job(attempts=1, max_retries=0)
    assert decide(job, ended(kinds.LOST, "x"), policy(), now=NOW).state == states.DEAD


@pytest.mark.parametrize(("error", "told"), [("its host is gone", "its host is gone"), (None, "")])
def test_the_crash_limit_ends_a_job_that_keeps_taking_its_worker_along(error: str | None, told: str) -> None:
    job = claimed_job(attempts=2, max_retries=1_000, lost=2)
    report = decide(job, ended(kinds.LOST, error), policy(crash_limit="3"), now=NOW)
    assert (report.state, report.lost) == (states.DEAD, 3)
    assert report.error is not None
    assert report.error.startswith(told)
    assert report.error.endswith("(3 times)")
    assert "None" not in report.error


@pytest.mark.parametrize("kind", [kind for kind in ALL_KINDS if kind != kinds.SUCCEEDED])
def test_a_job_that_somebody_wants_stopped_is_not_tried_again(kind: str) -> None:
    report = decide(claimed_job(cancel_requested=1), ended(kind), policy(), now=NOW)
    assert (report.state, report.error) == (states.CANCELLED, "cancelled")
    assert report.attempts == (0 if kind == kinds.UNSTARTED else 1)


def test_success_wins_over_a_request_to_stop() -> None:
    report = decide(claimed_job(cancel_requested=1), ended(kinds.SUCCEEDED), policy(), now=NOW)
    assert report.state == states.COMPLETED


def test_a_cancelled_job_keeps_the_reason_that_its_worker_gave() -> None:
    outcome = ended(kinds.CANCELLED, "cancelled while it ran")
    assert decide(claimed_job(), outcome, policy(), now=NOW).error == "cancelled while it ran"


@pytest.mark.parametrize(
    ("own", "delay"),
    [
        ({"backoff_base": 3.0}, 9_000),
        ({"backoff_base": 3.0, "backoff_max": 5_000}, 5_000),
        ({"backoff_strategy": "linear"}, 10_000),
        ({"backoff_strategy": "linear", "retry_delay": 700}, 1_400),
        ({"backoff_strategy": "fixed"}, 5_000),
        ({"backoff_strategy": "fixed", "retry_delay": 0}, 0),
        ({"retry_delay": 700}, 4_000),  # means nothing to the exponential strategy
        ({"backoff_max": 0}, 0),
    ],
)
def test_the_values_of_the_job_go_before_the_configured_ones(own: dict[str, object], delay: int) -> None:
    job = claimed_job(attempts=2, **own)
    assert decide(job, ended(kinds.FAILED), policy(), now=NOW).run_at == NOW + delay


def test_a_report_carries_the_fence_and_the_numbers_of_its_attempt() -> None:
    job = claimed_job(seq=12, claim="token", runs=6, attempts=2)
    report = decide(job, ended(kinds.RELEASED), policy(), now=NOW)
    assert (report.seq, report.claim, report.run, report.attempt) == (12, "token", 6, 2)


@settings(deadline=None)
@given(
    kind=st.sampled_from(ALL_KINDS),
    max_retries=st.integers(0, 50),
    used=st.integers(0, 60),
    lost=st.integers(0, 10),
    cancel=st.integers(0, 1),
    random=st.floats(0, 1, exclude_max=True),
    strategy=st.sampled_from([None, "exponential", "linear", "fixed"]),
    jitter=st.sampled_from(["0", "0.5", "1"]),
)
def test_only_legal_moves_are_decided(
    kind: str,
    max_retries: int,
    used: int,
    lost: int,
    cancel: int,
    random: float,
    strategy: str | None,
    jitter: str,
) -> None:
    attempts = 1 + used % (max_retries + 1)  # as a claim leaves it
    job = claimed_job(
        attempts=attempts,
        max_retries=max_retries,
        lost=lost,
        cancel_requested=cancel,
        backoff_strategy=strategy,
    )
    rules = policy(backoff_jitter=jitter)
    report = decide(job, ended(kind, "why"), rules, now=NOW, random=random)
    assert report.state in states.MOVES[states.PROCESSING]
    assert 0 <= report.attempts <= max_retries + 1
    if report.state in states.TIMED:
        assert NOW <= report.run_at <= NOW + rules.backoff.longest
        assert report.attempts <= max_retries, "a retry must be left"
    if report.state == states.COMPLETED:
        assert kind == kinds.SUCCEEDED
    if cancel:
        assert report.state in (states.COMPLETED, states.CANCELLED)
