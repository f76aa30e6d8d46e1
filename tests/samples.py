"""Jobs and policies for tests that need no store."""

from __future__ import annotations

from typing import Any

from queuectl.config.settings import Settings
from queuectl.core import states
from queuectl.core.job import Job
from queuectl.core.lifecycle import Policy
from queuectl.core.outcome import Outcome
from queuectl.core.rows import JOB_COLUMNS, job_from_row

NOW = 1_800_000_000_000  # epoch milliseconds; 2027-01-15T08:00:00Z

_CLAIMED: dict[str, Any] = {
    "seq": 7,
    "id": "job1",
    "command": "echo hi",
    "argv": None,
    "queue": "default",
    "state": states.PROCESSING,
    "priority": 0,
    "attempts": 1,
    "max_retries": 3,
    "lost": 0,
    "runs": 1,
    "backoff_strategy": None,
    "backoff_base": None,
    "backoff_max": None,
    "retry_delay": None,
    "timeout": None,
    "run_at": NOW - 1000,
    "created_at": NOW - 1000,
    "updated_at": NOW,
    "started_at": NOW,
    "finished_at": None,
    "cwd": "/srv",
    "env": None,
    "tags": None,
    "exit_code": None,
    "signal": None,
    "last_error": None,
    "worker_id": "w1",
    "claim": "c1",
    "cancel_requested": 0,
}


def claimed_job(**fields: Any) -> Job:
    """A job as its worker holds it: claimed for its first run, unless told otherwise."""
    values = _CLAIMED | fields
    return job_from_row([values.get(name) for name in JOB_COLUMNS])


def policy(**texts: str) -> Policy:
    """The default policy; `backoff_base="3"` and so on as in `config set`."""
    return Settings({name.replace("_", "-"): text for name, text in texts.items()}).policy


def ended(kind: str, error: str | None = None) -> Outcome:
    outcome = Outcome(kind, started_at=NOW, finished_at=NOW)
    outcome.error = error
    return outcome


def short(value: object) -> str:
    """The name of a test's parameter: one line, however long or odd the value is."""
    if isinstance(value, int) and value.bit_length() > 128:
        return "huge"  # Python refuses to print it
    return ascii(value)[:40]
