"""Rows of a store as jobs and attempts, and the columns that are read for that, in their order."""

from __future__ import annotations

from queuectl.core.job import Attempt, Job
from queuectl.core.states import PROCESSING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

# The order of columns in every SELECT of a whole job; `job_from_row` relies on it.
JOB_COLUMNS = tuple(Job.__annotations__)


def job_from_row(row: Sequence[Any]) -> Job:
    """Spelled out because a loop over the names takes five times as long, for every job of every worker."""
    job = Job.__new__(Job)
    (
        job.seq,
        job.id,
        job.command,
        job.argv,
        job.queue,
        job.state,
        job.priority,
        job.attempts,
        job.max_retries,
        job.lost,
        job.runs,
        job.backoff_strategy,
        job.backoff_base,
        job.backoff_max,
        job.retry_delay,
        job.timeout,
        job.run_at,
        job.created_at,
        job.updated_at,
        job.started_at,
        job.finished_at,
        job.cwd,
        job.env,
        job.tags,
        job.exit_code,
        job.signal,
        job.last_error,
        job.worker_id,
        job.claim,
        job.cancel_requested,
        job.rules,
        job.needs,
        job.unique_key,
        job.job_group,
        job.held,
        job.waits,
        job.unmet,
        job.schedule,
        job.progress,
        job.progress_text,
        job.notify,
        job.input,
        job.about,
    ) = row
    job.usual_ms = None
    return job


# What a claim reads: not what it sets itself, nor what has no meaning until the job ends.
CLAIM_COLUMNS = (
    *("seq", "id", "command", "argv", "queue", "priority", "attempts", "max_retries", "lost", "runs"),
    *("backoff_strategy", "backoff_base", "backoff_max", "retry_delay", "timeout"),
    *("run_at", "created_at", "cwd", "env", "tags", "rules", "needs", "notify", "input"),
)


def claimed_from_row(row: Sequence[Any], claim: str, worker_id: str, now: int) -> Job:
    """A pending job, as it is once it has been claimed."""
    job = Job.__new__(Job)
    (
        job.seq,
        job.id,
        job.command,
        job.argv,
        job.queue,
        job.priority,
        attempts,
        job.max_retries,
        job.lost,
        runs,
        job.backoff_strategy,
        job.backoff_base,
        job.backoff_max,
        job.retry_delay,
        job.timeout,
        job.run_at,
        job.created_at,
        job.cwd,
        job.env,
        job.tags,
        job.rules,
        job.needs,
        job.notify,
        job.input,
    ) = row
    job.state = PROCESSING
    job.attempts = attempts + 1
    job.runs = runs + 1
    job.claim = claim
    job.worker_id = worker_id
    job.started_at = job.updated_at = now
    job.cancel_requested = 0
    job.finished_at = job.exit_code = job.signal = None
    job.last_error = job.unique_key = job.job_group = job.schedule = job.progress_text = job.about = None
    job.held = job.waits = job.unmet = job.progress = job.usual_ms = None
    return job


ATTEMPT_COLUMNS = tuple(Attempt.__annotations__)


def attempt_from_row(row: Sequence[object]) -> Attempt:
    attempt = Attempt.__new__(Attempt)
    for name, value in zip(ATTEMPT_COLUMNS, row, strict=True):
        setattr(attempt, name, value)
    return attempt
