"""What exit codes and a wish for a later retry mean for the job."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.jobs import NOW, claimed_job, ended, policy

from queuectl.core import outcome as kinds
from queuectl.core import states
from queuectl.core.lifecycle import Report, decide
from queuectl.core.outcome import Outcome
from queuectl.core.retry_after import LONGEST_MS, read_retry_after


def failed(code: int | None = None, *, signum: int | None = None, error: str | None = None) -> Outcome:
    outcome = ended(kinds.FAILED, error or (f"exit code {code}" if code else f"killed by signal {signum}"))
    outcome.exit_code, outcome.signal = code, signum
    return outcome


def judged(outcome: Outcome, rules: dict[str, object], *, attempts: int = 1, cancel: int = 0) -> Report:
    job = claimed_job(rules=json.dumps(rules), attempts=attempts, cancel_requested=cancel)
    return decide(job, outcome, policy(), now=NOW)


@pytest.mark.parametrize(
    ("code", "rules", "job", "state"),
    [
        (3, {"ok_codes": "3"}, {}, states.COMPLETED),
        (3, {"ok_codes": "4-9"}, {}, states.FAILED),
        (3, {"no_retry_on": "3"}, {}, states.DEAD),
        (3, {"no_retry_on": "4"}, {}, states.FAILED),
        (3, {"retry_on": "3"}, {}, states.FAILED),
        (3, {"retry_on": "4"}, {}, states.DEAD),
        (75, {"retry_on": "4"}, {}, states.FAILED),
        (75, {"no_retry_on": "75"}, {}, states.DEAD),
        (3, {"memory": 1024}, {}, states.FAILED),
        (3, {"retry_on": "3"}, {"attempts": 4}, states.DEAD),  # no retry is left
        (3, {"ok_codes": "3"}, {"cancel": 1}, states.COMPLETED),  # a success wins over a request to stop
        (3, {"no_retry_on": "3"}, {"cancel": 1}, states.CANCELLED),
    ],
)
def test_the_rules_of_the_job_decide(
    code: int, rules: dict[str, object], job: dict[str, int], state: str
) -> None:
    assert judged(failed(code), rules, **job).state == state


def test_a_code_that_is_a_success_makes_the_attempt_one_and_is_kept() -> None:
    report = judged(failed(3, error="exit code 3: with warnings"), {"ok_codes": "3"})
    assert (report.outcome.kind, report.outcome.exit_code) == (kinds.SUCCEEDED, 3)
    assert (report.error, report.outcome.error) == (None, None)


def test_a_dead_job_says_which_code_was_not_to_be_retried() -> None:
    report = judged(failed(3, error="exit code 3: no such customer"), {"no_retry_on": "3"})
    assert report.error == "exit code 3: no such customer (exit code 3 is not to be retried)"
    assert report.outcome.kind == kinds.FAILED
    assert report.attempts == 1


@pytest.mark.parametrize(
    ("rules", "state"),
    [
        ({"no_retry_on": "137"}, states.DEAD),
        ({"retry_on": "137"}, states.FAILED),
        ({"retry_on": "9"}, states.DEAD),
        ({"ok_codes": "137"}, states.COMPLETED),
    ],
)
def test_death_by_a_signal_counts_as_128_and_its_number(rules: dict[str, object], state: str) -> None:
    report = judged(failed(signum=9), rules)
    assert report.state == state
    if state == states.DEAD:
        assert report.error == "killed by signal 9 (exit code 137 is not to be retried)"


@pytest.mark.parametrize("kind", [kinds.TIMEOUT, kinds.SPAWN_ERROR, kinds.LOST])
def test_what_is_no_exit_code_keeps_its_rules(kind: str) -> None:
    for code, signum in ((3, None), (None, 15), (None, None)):
        outcome = ended(kind, "why")
        outcome.exit_code, outcome.signal = code, signum
        report = judged(outcome, {"no_retry_on": "1-255", "ok_codes": "3"})
        assert report.state in (states.FAILED, states.PENDING)
        assert report.error == "why"


def test_the_command_names_the_time_of_the_next_retry_instead_of_the_backoff() -> None:
    outcome = failed(75)
    outcome.retry_at = NOW + 300_000
    report = decide(claimed_job(), outcome, policy(), now=NOW)
    assert (report.state, report.run_at, report.attempts) == (states.FAILED, NOW + 300_000, 1)


def test_a_wish_for_a_later_retry_uses_up_an_attempt() -> None:
    outcome = failed(75)
    outcome.retry_at = NOW + 300_000
    assert decide(claimed_job(attempts=4), outcome, policy(), now=NOW).state == states.DEAD


@pytest.mark.parametrize(
    ("text", "delay"),
    [
        ("300", 300_000),
        ("300\n", 300_000),
        (" 5m ", 300_000),
        ("1h30m", 5_400_000),
        ("0", 0),
        ("2.5", 2_500),
        ("+10m", 600_000),
        ("in 2h", 7_200_000),
        ("now", 0),
        ("2027-01-15T09:00:00Z", 3_600_000),
        ("2027-01-15T07:00:00Z", 0),  # over: at once
        ("2027-02-14T08:00:00Z", LONGEST_MS),
    ],
)
def test_a_duration_or_a_time_is_understood(text: str, delay: int) -> None:
    assert read_retry_after(text, now_ms=NOW) == (NOW + delay, None)


@pytest.mark.parametrize("text", ["31d", "2099-01-01", str(NOW // 1000)])
def test_more_than_the_longest_is_cut_and_that_is_told(text: str) -> None:
    wanted, note = read_retry_after(text, now_ms=NOW)
    assert wanted == NOW + LONGEST_MS
    assert note == f"QUEUECTL_RETRY_AFTER {text!r} cut to 30d"


@pytest.mark.parametrize("text", ["soon", "-5", "5 parsecs", "\0\1", "12:99", "x" * 1000, "300 400"])
def test_anything_else_is_ignored_and_that_is_told(text: str) -> None:
    wanted, note = read_retry_after(text, now_ms=NOW)
    assert wanted is None
    assert note is not None
    assert note.startswith("ignored QUEUECTL_RETRY_AFTER")
    assert len(note) < 200
    assert "\0" not in note


@pytest.mark.parametrize("text", ["", " \n"])
def test_an_empty_file_says_nothing(text: str) -> None:
    assert read_retry_after(text, now_ms=NOW) == (None, None)


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=60))
def test_whatever_is_written_the_time_is_within_bounds(text: str) -> None:
    wanted, note = read_retry_after(text, now_ms=NOW)
    assert wanted is None or NOW <= wanted <= NOW + LONGEST_MS
    assert note is None or "\n" not in note


CODES = st.sampled_from([None, "1", "1-10", "75", "128-255", "3,75,137"])


@settings(max_examples=100, deadline=None)
@given(
    code=st.integers(1, 255),
    signum=st.one_of(st.none(), st.integers(1, 64)),
    attempts=st.integers(1, 4),
    retry_at=st.one_of(st.none(), st.integers(NOW, NOW + LONGEST_MS)),
    cancel=st.integers(0, 1),
    rules=st.fixed_dictionaries({"retry_on": CODES, "no_retry_on": CODES, "ok_codes": CODES}),
)
def test_only_legal_moves_are_decided(
    code: int,
    signum: int | None,
    attempts: int,
    retry_at: int | None,
    cancel: int,
    rules: dict[str, object],
) -> None:
    outcome = failed(None if signum else code, signum=signum)
    outcome.retry_at = retry_at
    report = judged(outcome, rules, attempts=attempts, cancel=cancel)
    assert report.state in states.MOVES[states.PROCESSING]
    assert (report.state == states.COMPLETED) == (report.outcome.kind == kinds.SUCCEEDED)
    if report.state == states.FAILED:
        assert attempts <= 3, "a retry must be left"
        assert report.run_at >= NOW
    if cancel:
        assert report.state in (states.COMPLETED, states.CANCELLED)
