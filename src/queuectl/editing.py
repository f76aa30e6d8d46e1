"""What one does with jobs that wait: hold, release, change, move; and the progress of those that run.

Use cases over a Queue. Which values a job may have is left to `core.spec`, so that a change is refused in the
same words as a new job.
"""

from __future__ import annotations

import json

from queuectl import doorbell
from queuectl.core import states
from queuectl.core.notices import AS_USUAL, changed
from queuectl.core.runtimes import one_timeout
from queuectl.core.spec import Defaults, job_from_fields
from queuectl.errors import InvalidInput, Refused
from queuectl.store.messages import JobFilter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from queuectl.core.job import Job, NewJob
    from queuectl.queue import Queue

__all__ = [
    "CLEARABLE",
    "EDITABLE",
    "WAITING",
    "Changes",
    "edit",
    "edit_matching",
    "hold",
    "hold_matching",
    "progressing",
    "release",
    "release_matching",
    "set_progress",
]

WAITING = states.CANCELLABLE  # neither running nor ended
LONGEST_TEXT = 200  # characters of a progress

_RULES = (
    *("retry_on", "no_retry_on", "ok_codes"),
    *("memory", "cpu_time", "files", "processes", "nice"),
    "timeout_percent",
)
_NOTICES = ("notify", "notify_on")
_OPTIONAL = ("timeout", "backoff_strategy", "backoff_base", "backoff_max", "retry_delay", "tags")
EDITABLE = (
    *("command", "argv", "queue", "priority", "run_at", "delay", "max_retries", "cwd", "env", "needs"),
    *_OPTIONAL,
    *_NOTICES,
    *_RULES,
)
CLEARABLE = (*_OPTIONAL, "env", "needs", *_NOTICES, *_RULES)  # what a job need not have
_SOMETHING = {"command": "true"}  # a job cannot be checked without a command


class Changes:
    """Checked changes: columns with their values, and what is merged with what each job has."""

    __slots__ = ("_defaults", "_merged", "columns")

    def __init__(self, fields: Mapping[str, object], defaults: Defaults) -> None:
        """`fields` as those of a new job; None takes away what a job need not have."""
        _check_names(fields)
        fields = one_timeout(fields)
        given = {name: value for name, value in fields.items() if value is not None}
        named = "command" in given or "argv" in given
        job = job_from_fields(given if named else {**_SOMETHING, **given}, defaults)
        self._defaults = defaults
        # One variable or one limit is changed and the others stay: these share a column.
        self._merged = {name: value for name, value in fields.items() if name in (*_RULES, *_NOTICES, "env")}
        self.columns = {
            column: value
            for name in fields
            if name not in self._merged
            for column, value in _columns(name, job).items()
        }

    @property
    def has_merges(self) -> bool:
        return bool(self._merged)

    @property
    def run_at(self) -> int | None:
        value = self.columns.get("run_at")
        return value if isinstance(value, int) else None

    @property
    def queue(self) -> str | None:
        value = self.columns.get("queue")
        return None if value is None else str(value)

    def merge(self, rules: str | None, env: str | None, notify: str | None) -> dict[str, object]:
        """The columns that these changes make of a job's own; refuses what does not go together."""
        fields: dict[str, object] = {**_SOMETHING, **_as_given(json.loads(rules) if rules else {})}
        fields |= {name: value for name, value in self._merged.items() if name in _RULES}
        if "env" in self._merged:
            more = self._merged["env"]
            fields["env"] = {**json.loads(env or "{}"), **more} if isinstance(more, dict) else None
        job = job_from_fields(fields, self._defaults)
        columns: dict[str, object] = {}
        if any(name in _RULES for name in self._merged):
            kept = job.conditions.rules if job.conditions is not None else {}
            columns["rules"] = json.dumps(kept, sort_keys=True) if kept else None
        if "env" in self._merged:
            columns["env"] = job.env
        notices = {
            name: AS_USUAL if value is None else value
            for name, value in self._merged.items()
            if name in _NOTICES
        }
        if notices:
            columns["notify"] = changed(notify, **notices)
        return columns


def _check_names(fields: Mapping[str, object]) -> None:
    if not fields:
        raise InvalidInput("nothing to change", "what can be changed: " + ", ".join(EDITABLE))
    for name, value in fields.items():
        if name not in EDITABLE:
            raise InvalidInput(
                f"{name[:60]!r} of a job cannot be changed", "only these: " + ", ".join(EDITABLE)
            )
        if value is None and name not in CLEARABLE:
            raise InvalidInput(
                f"a job must have its {name}", "what can be taken away: " + ", ".join(CLEARABLE)
            )


def _columns(name: str, job: NewJob) -> dict[str, object]:
    """Where the value of a field is stored."""
    if name in ("command", "argv"):
        return {"command": job.command, "argv": job.argv}
    if name in ("run_at", "delay"):
        return {"run_at": job.run_at}
    if name == "needs":
        return {"needs": job.conditions.needs if job.conditions is not None else None}
    return {name: getattr(job, name)}


def _as_given(rules: dict[str, object]) -> dict[str, object]:
    """Stored rules, as somebody would write them."""
    if "cpu_time" in rules:
        rules["cpu_time"] = f"{rules['cpu_time']}ms"
    return rules


# --- use cases --------------------------------------------------------------------------------------


def hold(queue: Queue, id: str) -> Job:
    """Do not run a job until it is released. One that is held already stays so."""
    hold_matching(queue, JobFilter(ids=(queue.get(id).id,)))
    job = queue.get(id)
    if not (job.state == states.BLOCKED and job.held):
        raise _refusal(job)
    return job


def hold_matching(queue: Queue, filter: JobFilter) -> int:
    count = queue.store.editing().hold(filter, queue.clock.now())
    if count:
        doorbell.announce(queue.store, doorbell.JOB)  # others of a group may come in instead
    return count


def release(queue: Queue, id: str) -> Job:
    """Let a held job go on: it waits for its time, for other jobs, or for a worker."""
    if not release_matching(queue, JobFilter(ids=(queue.get(id).id,))):
        job = queue.get(id)
        raise Refused(f"job {id} is {job.state}, and nobody holds it", f"see: queuectl show {id}")
    return queue.get(id)


def release_matching(queue: Queue, filter: JobFilter) -> int:
    count = queue.store.editing().release(filter, queue.clock.now())
    if count:
        doorbell.announce(queue.store, doorbell.JOB)
    return count


def edit(queue: Queue, id: str, changes: Changes) -> Job:
    """Change a job that neither runs nor has ended."""
    if not edit_matching(queue, JobFilter(ids=(queue.get(id).id,)), changes):
        raise _refusal(queue.get(id))
    return queue.get(id)


def edit_matching(queue: Queue, filter: JobFilter, changes: Changes) -> int:
    """The same for all that match; others are left as they are."""
    if changes.queue is not None:
        _refuse_draining(queue, changes.queue)
    count = queue.store.editing().edit(
        filter, changes.columns, queue.clock.now(), merge=changes.merge if changes.has_merges else None
    )
    if count:
        doorbell.announce(queue.store, doorbell.JOB)
    return count


def set_progress(queue: Queue, id: str, token: str, percent: int, text: str | None = None) -> None:
    """What the command of a job says about itself; `token` is the one in its environment."""
    if not 0 <= percent <= 100:
        raise InvalidInput(f"progress must be between 0 and 100, not {percent}", "it is a percentage")
    claim = token.rpartition(".")[0]
    text = None if not text else text[:LONGEST_TEXT]
    if not queue.store.editing().set_progress(id, claim, percent, text, queue.clock.now()):
        raise Refused(
            f"job {id} is not this run's any more",
            "it has ended, or its worker was taken for dead and another one has it",
        )


def progressing(queue: Queue, filter: JobFilter, *, limit: int) -> list[Job]:
    """Running jobs that have said how far they are."""
    return queue.store.editing().progressing(filter, limit=limit)


def _refuse_draining(queue: Queue, name: str) -> None:
    rule = queue.store.queues().get(name)
    if rule is not None and rule.draining:
        raise Refused(f"queue {name} is draining: it takes no more jobs", f"queuectl queue resume {name}")


def _refusal(job: Job) -> Refused:
    if job.state == states.PROCESSING:
        hint = f"wait for its end, or stop it first: queuectl cancel {job.id}"
    elif job.state in states.RETRYABLE:
        hint = f"it has ended; to run it again as it is: queuectl retry {job.id}"
    else:
        hint = "it has ended already"
    return Refused(f"job {job.id} is {job.state}", hint)
