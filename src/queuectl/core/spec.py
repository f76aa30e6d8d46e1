"""One job as somebody describes it -> NewJob, or an error that names the field and the remedy.

Every way in (flags, JSON, files, Python) comes through here, so bad input is refused alike.
"""

from __future__ import annotations

import json

from queuectl.core.batches import Commands
from queuectl.core.fields import (
    FIELDS,
    MAX_ARGUMENT_BYTES,
    SETTERS,
    Defaults,
    check_command,
    check_queue,
    default_cwd,
    kind_of,
    quote_argv,
)
from queuectl.core.job import NewJob
from queuectl.errors import InvalidInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = [
    "FIELDS",
    "MAX_ARGUMENT_BYTES",
    "SET_BY_QUEUE",
    "Defaults",
    "check_command",
    "check_queue",
    "check_values",
    "job_from_command",
    "job_from_fields",
    "jobs_from_commands",
]

# What the queue itself sets. A job pasted back as it was printed is fine: they are left out, with a
# note.
SET_BY_QUEUE = frozenset(
    {
        "state",
        "attempts",
        "next_run_at",
        "created_at",
        "updated_at",
        "started_at",
        "finished_at",
        "exit_code",
        "signal",
        "last_error",
        "worker_id",
        "output",
        "history",
        "runs",
        "lost",
        "host",
        "seq",
        "number",
        "claim",
        "progress",
        "progress_text",
        "held",
        "waits",
        "schedule",
        "about",
        "notifications",
        "input_bytes",
        "usual_seconds",
    }
)


def job_from_command(command: str, defaults: Defaults) -> NewJob:
    """The short way for a plain shell line."""
    job = NewJob(check_command(command), defaults.max_retries)
    job.cwd = default_cwd(defaults)
    return job


def jobs_from_commands(commands: Sequence[str], defaults: Defaults) -> Commands:
    """The same for many of them."""
    for command in commands:
        check_command(command)
    return Commands(commands, job_from_command(commands[0], defaults))


def job_from_fields(raw: object, defaults: Defaults, notes: Callable[[str], None] | None = None) -> NewJob:
    """Validate one job given as a mapping. `notes` hears what was ignored."""
    if not isinstance(raw, dict):
        raise InvalidInput(f"a job must be a JSON object, not {kind_of(raw)}", 'like {"command": "echo hi"}')
    job = NewJob("", defaults.max_retries)
    if raw.get("cwd") is None:
        job.cwd = default_cwd(defaults)
    _set_all(job, raw, defaults, notes)
    _check_combinations(raw, job)
    return job


def check_values(raw: dict[str, object], defaults: Defaults) -> None:
    """Each value by itself: with what else a job may have they need not go together, nor make one."""
    _set_all(NewJob("", defaults.max_retries), raw, defaults, None)


def _set_all(
    job: NewJob, raw: dict[str, object], defaults: Defaults, notes: Callable[[str], None] | None
) -> None:
    name = None
    ignored = []
    try:
        for name, value in raw.items():
            setter = SETTERS.get(name)
            if setter is not None:
                setter(job, value, defaults)
            elif name in SET_BY_QUEUE:
                ignored.append(name)
            else:
                raise _unknown_field(name)
    except InvalidInput as error:
        error.about(str(name))
        raise
    if ignored and notes is not None:
        notes(_ignored_in_words(ignored))


_MEANT = {"cmd": "command", "args": "argv", "retries": "max_retries"}  # nearer in letters to others


def _ignored_in_words(names: Sequence[str]) -> str:
    """One line, however many there are: a job pasted back as it was printed has more than a dozen."""
    if len(names) == 1:
        return f"field {names[0]!r} is set by the queue itself and was ignored"
    return f"{len(names)} fields are set by the queue itself and were ignored: {', '.join(names)}"


def _unknown_field(name: object) -> InvalidInput:
    from difflib import get_close_matches

    near = get_close_matches(_MEANT.get(str(name), str(name)), list(SETTERS), n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}?" if near else "known fields: " + ", ".join(sorted(SETTERS))
    return InvalidInput(f"unknown field {str(name)[:60]!r}", hint)


def _check_combinations(raw: dict[str, object], job: NewJob) -> None:
    if not job.command:
        raise InvalidInput("the command is missing", 'give "command" (a shell line) or "argv"')
    both = raw.get("command") is not None and raw.get("argv") is not None
    # What we print carries both: `command` is then the list, quoted for reading.
    if both and job.command != quote_argv(json.loads(job.argv or "[]")):
        raise InvalidInput("both command and argv are given", "give one of the two").about("command", "argv")
    if raw.get("run_at") is not None and raw.get("delay") is not None:
        raise InvalidInput("both run_at and delay are given", "give one of the two").about("run_at", "delay")
    if job.conditions is not None:
        from queuectl.core.conditions import check_conditions

        check_conditions(raw, job)
    given = [name for name in ("max_retries", "max_attempts", "max_tries") if name in raw]
    if len(given) > 1:
        raise InvalidInput(f"both {given[0]} and {given[1]} are given", "give one of the two").about(*given)
