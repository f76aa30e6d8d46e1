"""What a row of an imported file must be beyond its types: a file may have been edited by hand.

A job that no `enqueue` would take must not come in by another door.
"""

from __future__ import annotations

import json

from queuectl.core import states
from queuectl.core.fields import SETTERS, Defaults, check_command
from queuectl.core.job import NewJob
from queuectl.core.tables import ATTEMPTS, CONFIG, JOBS
from queuectl.errors import InvalidInput
from queuectl.logfiles import log_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from queuectl.core.tables import Row, Table

_PLAIN = ("id", "queue", "priority", "max_retries", "backoff_strategy", "cwd")
_NESTED = ("argv", "env")  # JSON within the row
_DEFAULTS = Defaults(now=0)


def check_row(table: Table, row: Row, settings: dict[str, str]) -> None:
    """Refuse what nobody could work with. Settings are collected: they make sense only together."""
    fields = dict(zip(table.names, row, strict=True))
    if table is JOBS:
        _check_job(fields)
    elif table is ATTEMPTS:
        _check_attempt(fields)
    elif table is CONFIG:
        name = str(fields["key"])
        if name.startswith("_"):
            raise InvalidInput(f"{name[:60]!r} is no setting", "delete this line")
        settings[name] = str(fields["value"])


def _check_job(fields: Mapping[str, object]) -> None:
    _check_number(fields, "seq")
    state = fields["state"]
    if state not in states.ALL:
        raise InvalidInput(f"unknown state {str(state)[:40]!r}", "choose one of " + ", ".join(states.ALL))
    if state == states.PROCESSING or fields["claim"] is not None:
        raise InvalidInput("the job belongs to a worker", "that worker does not come along; make it pending")
    job = NewJob("", 0)
    check_command(fields["command"])
    for name in _PLAIN:
        if fields[name] is not None:
            SETTERS[name](job, fields[name], _DEFAULTS)
    for name in _NESTED:
        text = fields[name]
        if text is not None:
            SETTERS[name](job, _nested(name, str(text)), _DEFAULTS)
    tags = fields["tags"]
    if tags is not None:
        words = str(tags)
        if not (words.startswith(",") and words.endswith(",") and len(words) > 2):
            raise InvalidInput(f"tags are written ',a,b,', not {words[:40]!r}")
        SETTERS["tags"](job, words[1:-1], _DEFAULTS)


def _nested(name: str, text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise InvalidInput(f"{name} must be JSON in a string") from None


def _check_attempt(fields: Mapping[str, object]) -> None:
    seq, run = _check_number(fields, "job_seq"), _check_number(fields, "run")
    log = fields["log"]
    # It is a path: what deletes a job deletes this file.
    if log is not None and log != log_name(seq, run):
        raise InvalidInput(f"log must be {log_name(seq, run)!r} or nothing, not {str(log)[:60]!r}")


def _check_number(fields: Mapping[str, object], name: str) -> int:
    value = fields[name]
    assert isinstance(value, int)
    if value < 1:
        raise InvalidInput(f"{name} must be at least 1, not {value}")
    return value
