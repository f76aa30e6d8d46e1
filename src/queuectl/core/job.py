"""The nouns of the queue: a new job, a stored job, one attempt at it.

Plain slotted classes: they are made by the hundred thousand and on the path of every `enqueue`. How they are
made of the rows of a store is left to `rows`.
"""

from __future__ import annotations

import json

from queuectl.core.durations import plain_number, seconds
from queuectl.core.states import FAILED, PENDING, SCHEDULED
from queuectl.core.times import iso

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from queuectl.core.conditions import Conditions

DEFAULT_QUEUE = "default"
PERCENT = "timeout_percent"  # the rule of a job whose timeout is a share of its usual run time


class NewJob:
    """A validated job that is not stored yet. Times and durations are milliseconds."""

    __slots__ = (
        "argv",
        "backoff_base",
        "backoff_max",
        "backoff_strategy",
        "command",
        "conditions",
        "cwd",
        "env",
        "id",
        "made",
        "max_retries",
        "own_retries",
        "priority",
        "queue",
        "retry_delay",
        "run_at",
        "tags",
        "timeout",
    )

    def __init__(self, command: str, max_retries: int) -> None:
        self.id: str | None = None  # None: one is made when it is stored
        self.made = False  # the id is one that we made
        self.command = command
        self.argv: str | None = None  # JSON list; None means a shell line
        self.queue = DEFAULT_QUEUE
        self.priority = 0
        self.max_retries = max_retries
        self.own_retries = False  # it says so itself, and its queue has no say in it
        self.backoff_strategy: str | None = None  # None: as configured when it fails
        self.backoff_base: float | None = None
        self.backoff_max: int | None = None
        self.retry_delay: int | None = None
        self.timeout: int | None = None
        self.run_at: int | None = None  # None: now
        self.cwd: str | None = None
        self.env: str | None = None  # JSON object
        self.tags: str | None = None  # ",a,b," so that LIKE can find one
        self.conditions: Conditions | None = None  # when and how it may run, if somebody has said so


class Job:
    """A job as it is stored."""

    __slots__ = (
        "about",
        "argv",
        "attempts",
        "backoff_base",
        "backoff_max",
        "backoff_strategy",
        "cancel_requested",
        "claim",
        "command",
        "created_at",
        "cwd",
        "env",
        "exit_code",
        "finished_at",
        "held",
        "id",
        "input",
        "job_group",
        "last_error",
        "lost",
        "max_retries",
        "needs",
        "notify",
        "priority",
        "progress",
        "progress_text",
        "queue",
        "retry_delay",
        "rules",
        "run_at",
        "runs",
        "schedule",
        "seq",
        "signal",
        "started_at",
        "state",
        "tags",
        "timeout",
        "unique_key",
        "unmet",
        "updated_at",
        "usual_ms",
        "waits",
        "worker_id",
    )

    seq: int
    id: str
    command: str
    argv: str | None
    queue: str
    state: str
    priority: int
    attempts: int
    max_retries: int
    lost: int
    runs: int
    backoff_strategy: str | None
    backoff_base: float | None
    backoff_max: int | None
    retry_delay: int | None
    timeout: int | None
    run_at: int
    created_at: int
    updated_at: int
    started_at: int | None
    finished_at: int | None
    cwd: str | None
    env: str | None
    tags: str | None
    exit_code: int | None
    signal: int | None
    last_error: str | None
    worker_id: str | None
    claim: str | None
    cancel_requested: int
    rules: str | None
    needs: str | None
    unique_key: str | None
    job_group: str | None
    held: int | None
    waits: int | None
    unmet: int | None
    schedule: str | None
    progress: int | None
    progress_text: str | None
    notify: str | None
    input: str | None
    about: str | None

    if TYPE_CHECKING:
        usual_ms: int | None  # in memory only: what a timeout in percent was worked out from

    def __repr__(self) -> str:
        return f"<Job {self.id} {self.state}>"

    @property
    def next_run_at(self) -> int | None:
        """When it will be started next, if that is known."""
        return self.run_at if self.state in (PENDING, SCHEDULED, FAILED) else None

    @property
    def token(self) -> str:
        """What its processes carry in their environment; unique to this claim of this job."""
        return f"{self.claim}.{self.seq}"

    def tag_list(self) -> list[str]:
        return self.tags.strip(",").split(",") if self.tags else []

    def environment(self) -> dict[str, str]:
        return _object(self.env) if self.env else {}

    def rule(self, name: str) -> Any:
        """One of its exit-code sets or process limits; None if it has none."""
        return _object(self.rules).get(name) if self.rules else None

    def wishes(self) -> dict[str, object]:
        """Who is told of its end, as far as the job itself says so."""
        if self.notify is None:
            return {}
        from queuectl.core.notices import read_rule

        return read_rule(self.notify).to_dict()

    def to_dict(self) -> dict[str, object]:
        """The job as every interface shows it: ISO times, durations in seconds."""
        return {
            "id": self.id,
            "number": self.seq,
            "command": self.command,
            "argv": _list(self.argv) if self.argv else None,
            "queue": self.queue,
            "state": self.state,
            "priority": self.priority,
            "attempts": self.attempts,
            "max_retries": self.max_retries,
            "backoff_strategy": self.backoff_strategy,
            "backoff_base": plain_number(self.backoff_base),
            "backoff_max": seconds(self.backoff_max),
            "retry_delay": seconds(self.retry_delay),
            "timeout": seconds(self.timeout),
            "run_at": iso(self.run_at),
            "next_run_at": iso(self.next_run_at),
            "tags": self.tag_list(),
            **self._conditions(),
            # Names only: values may be secrets, and a listing goes to terminals, logs and tickets.
            "env": dict.fromkeys(self.environment(), "***"),
            "cwd": self.cwd,
            "created_at": iso(self.created_at),
            "updated_at": iso(self.updated_at),
            "started_at": iso(self.started_at),
            "finished_at": iso(self.finished_at),
            "exit_code": self.exit_code,
            "signal": self.signal,
            "last_error": self.last_error,
            "worker_id": self.worker_id,
        }

    def _conditions(self) -> dict[str, object]:
        """When and how it may run; what nobody has set is left out."""
        rules = _object(self.rules) if self.rules else {}
        if isinstance(rules.get("cpu_time"), int):
            rules["cpu_time"] = seconds(rules["cpu_time"])
        shown = {
            **rules,
            "needs": self.needs,
            "unique_key": self.unique_key,
            "group": self.job_group,
            "held": bool(self.held) or None,
            "waits": self.waits,
            "schedule": self.schedule,
            "about": self.about,
            **self.wishes(),
            "input_bytes": None if self.input is None else len(self.input.encode()),
            "progress": self.progress,
            "progress_text": self.progress_text,
        }
        return {name: value for name, value in shown.items() if value is not None}


def _object(text: str) -> dict[str, Any]:
    """JSON that was damaged in the store is shown as none, or one such job would hide all the others."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _list(text: str) -> list[Any] | None:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, list) else None


class Attempt:
    """One start of a job and how it ended. `run` counts all starts ever and is never reset."""

    __slots__ = (
        "attempt",
        "claim",
        "cpu_ms",
        "error",
        "exit_code",
        "finished_at",
        "host",
        "log",
        "max_rss_kb",
        "outcome",
        "output",
        "output_bytes",
        "output_dropped",
        "run",
        "signal",
        "started_at",
        "worker_id",
    )

    run: int
    attempt: int
    claim: str
    worker_id: str | None
    host: str | None
    started_at: int | None
    finished_at: int
    outcome: str
    exit_code: int | None
    signal: int | None
    error: str | None
    cpu_ms: int | None
    max_rss_kb: int | None
    output: bytes | None  # packed chunks (core.chunks), if short enough for the store
    output_bytes: int
    output_dropped: int
    log: str | None  # file name below logs/, if the output was long

    def to_dict(self) -> dict[str, object]:
        return {
            "attempt": self.run,
            "started_at": iso(self.started_at),
            "finished_at": iso(self.finished_at),
            "outcome": self.outcome,
            "exit_code": self.exit_code,
            "signal": self.signal,
            "worker_id": self.worker_id,
            "host": self.host,
            "error": self.error,
            "cpu_seconds": seconds(self.cpu_ms),
            "max_rss_kb": self.max_rss_kb,
            "output_bytes": self.output_bytes,
            "output_dropped": self.output_dropped,
        }
