"""What happens to a job after an attempt: decide(job, outcome, …) -> Report.

The one place that decides on retries, dead letters and cancellations; the store carries it out.
"""

from __future__ import annotations

from queuectl.core import outcome as kinds
from queuectl.core.backoff import Backoff, delay_ms
from queuectl.core.states import CANCELLED, COMPLETED, DEAD, FAILED, PENDING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queuectl.core.job import Job
    from queuectl.core.outcome import Outcome


class Report:
    """The verdict on one attempt, ready to be stored. `claim` is the fence."""

    __slots__ = (
        "attempt",
        "attempts",
        "claim",
        "error",
        "lost",
        "notify",
        "outcome",
        "queue",
        "run",
        "run_at",
        "seq",
        "state",
    )

    def __init__(self, job: Job, outcome: Outcome, state: str) -> None:
        assert job.claim is not None
        self.seq = job.seq
        self.queue = job.queue
        self.claim = job.claim
        self.run = job.runs
        self.attempt = job.attempts
        self.outcome = outcome
        self.state = state
        self.attempts = job.attempts
        self.lost = job.lost
        self.run_at = job.run_at
        self.error = outcome.error
        self.notify = job.notify


class Policy:
    """The settings that decide: the backoff, and how often a job may take its worker along."""

    __slots__ = ("backoff", "crash_limit")

    def __init__(self, backoff: Backoff, crash_limit: int) -> None:
        self.backoff = backoff
        self.crash_limit = crash_limit


def decide(job: Job, outcome: Outcome, policy: Policy, *, now: int, random: float = 0.0) -> Report:
    """The next state of a job after this outcome. `job` is as it was claimed.

    A code that the job calls a success makes the outcome one.
    """
    final = job.rules is not None and outcome.kind == kinds.FAILED and _heed_exit_code(job, outcome)
    if outcome.kind == kinds.SUCCEEDED:
        return Report(job, outcome, COMPLETED)
    if outcome.kind == kinds.CANCELLED or job.cancel_requested:
        # A job that somebody wants stopped is not tried again, however this attempt ended.
        return cancelled(Report(job, outcome, CANCELLED))
    if outcome.kind in (kinds.RELEASED, kinds.UNSTARTED):
        report = Report(job, outcome, PENDING)
        report.attempts = job.attempts - 1
        return report
    if final:
        return _not_again(job, outcome)
    return _failed(job, outcome, policy, now=now, random=random)


def cancelled(report: Report) -> Report:
    """The same attempt, when it turns out that somebody wants the job stopped."""
    report.state = CANCELLED
    report.error = report.error or "cancelled"
    started = report.outcome.kind != kinds.UNSTARTED
    report.attempts = report.attempt if started else report.attempt - 1
    return report


def _heed_exit_code(job: Job, outcome: Outcome) -> bool:
    """Whether the job's rules for exit codes forbid another try; what they call a success becomes one."""
    code = _code(outcome)
    if code is None:
        return False
    from queuectl.core import exit_codes

    said = exit_codes.verdict(
        code,
        retry_on=job.rule("retry_on"),
        no_retry_on=job.rule("no_retry_on"),
        ok_codes=job.rule("ok_codes"),
    )
    if said == exit_codes.SUCCESS:
        outcome.kind, outcome.error = kinds.SUCCEEDED, None
    return said == exit_codes.DEAD


def _code(outcome: Outcome) -> int | None:
    """As a shell would give it: death by signal n is 128 + n."""
    return outcome.exit_code if outcome.signal is None else 128 + outcome.signal


def _not_again(job: Job, outcome: Outcome) -> Report:
    report = Report(job, outcome, DEAD)
    why = f"exit code {_code(outcome)} is not to be retried"
    report.error = f"{outcome.error} ({why})" if outcome.error else why
    return report


def _failed(job: Job, outcome: Outcome, policy: Policy, *, now: int, random: float) -> Report:
    report = Report(job, outcome, FAILED)
    crashed = outcome.kind == kinds.LOST
    if crashed:
        report.lost = job.lost + 1
        if report.lost >= policy.crash_limit:
            report.state = DEAD
            report.error = f"{outcome.error or 'its worker died'} ({report.lost} times)"
            return report
    if job.attempts > job.max_retries:
        report.state = DEAD
    elif crashed and report.lost == 1:
        # The first loss is most likely the worker's fault: run again at once. From the second on
        # the job itself is suspect and waits like any failure.
        report.state = PENDING
    elif outcome.retry_at is not None:
        report.run_at = outcome.retry_at
    else:
        report.run_at = now + delay_ms(backoff_of(job, policy.backoff), job.attempts, random)
    return report


def backoff_of(job: Job, configured: Backoff) -> Backoff:
    """The job's own values where it has any, the configured ones elsewhere."""
    own = (job.backoff_strategy, job.backoff_base, job.retry_delay, job.backoff_max)
    if own == (None, None, None, None):
        return configured
    return Backoff(
        strategy=job.backoff_strategy or configured.strategy,
        base=configured.base if job.backoff_base is None else job.backoff_base,
        delay=configured.delay if job.retry_delay is None else job.retry_delay,
        longest=configured.longest if job.backoff_max is None else job.backoff_max,
        jitter=configured.jitter,
    )
