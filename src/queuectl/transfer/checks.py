"""What a row of an imported file must be beyond its types: a file may have been edited by hand.

A job that no `enqueue` would take must not come in by another door.
"""

from __future__ import annotations

import json

from queuectl.core import states
from queuectl.core.conditions import ANY, FAILURE, SUCCESS, check_conditions, conditions
from queuectl.core.fields import SETTERS, Defaults, check_command, check_int, check_queue, kind_of
from queuectl.core.ids import check_id
from queuectl.core.job import PERCENT, NewJob
from queuectl.core.notices import VARIABLES, changed, read_rule
from queuectl.core.queue_rules import QUEUE_COLUMNS, rate_of, rule_from_row
from queuectl.core.queue_spec import MAX_CONCURRENCY, check_reason, read_changes
from queuectl.core.schedules import (
    SCHEDULE_COLUMNS,
    check_job,
    check_name,
    check_rules,
    schedule_from_row,
)
from queuectl.core.stdin import check_input
from queuectl.core.tables import (
    ATTEMPTS,
    CONFIG,
    DEPENDENCIES,
    JOB_GROUPS,
    JOBS,
    QUEUES,
    SCHEDULES,
    UNSETTLED,
)
from queuectl.errors import InvalidInput
from queuectl.logfiles import log_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from queuectl.core.tables import Row, Table

_PLAIN = ("id", "queue", "priority", "max_retries", "backoff_strategy", "cwd")
_NESTED = ("argv", "env")  # JSON within the row
_CONDITIONS = {"needs": "needs", "unique_key": "unique_key", "job_group": "group"}  # column: field
_RULES = (
    *("retry_on", "no_retry_on", "ok_codes", "memory", "cpu_time", "files", "processes", "nice"),
    "timeout_percent",
)
_OF_QUEUES = ("concurrency", "rate", "burst", "max_retries", "backoff_strategy", "backoff_base", PERCENT)
_DEFAULTS = Defaults(now=0)
_MOST = 2**63 - 1
_AGAIN = "correct it, or export the queue again"


def check_row(table: Table, row: Row, settings: dict[str, str], *, running: bool = False) -> None:
    """Refuse what nobody could work with. Settings are collected: they make sense only together."""
    fields = dict(zip(table.names, row, strict=True))
    if table is CONFIG:
        name = str(fields["key"])
        if name.startswith("_"):
            raise InvalidInput(f"{name[:60]!r} is no setting", "delete this line")
        settings[name] = str(fields["value"])
        return
    if (
        table is JOBS
        and not running
        and (fields["state"] == states.PROCESSING or fields["claim"] is not None)
    ):
        raise InvalidInput(
            "the job belongs to a worker",
            "that worker does not come along: queuectl restore takes care of it",
        )
    _CHECKS[table.name](fields)


def _check_job(fields: Mapping[str, object]) -> None:
    _check_number(fields, "seq")
    state = fields["state"]
    if state not in states.ALL:
        raise InvalidInput(f"unknown state {str(state)[:40]!r}", "choose one of " + ", ".join(states.ALL))
    job = NewJob("", 0)
    check_command(fields["command"])
    for name in _PLAIN:
        if fields[name] is not None:
            SETTERS[name](job, fields[name], _DEFAULTS)
    for name in _NESTED:
        text = fields[name]
        if text is not None:
            value = _nested(name, str(text))
            if name == "env" and fields["about"] is not None and isinstance(value, dict):
                # What a notification is told, by names that no other job may have.
                value = {key: one for key, one in value.items() if key not in VARIABLES}
            SETTERS[name](job, value, _DEFAULTS)
    tags = fields["tags"]
    if tags is not None:
        words = str(tags)
        if not (words.startswith(",") and words.endswith(",") and len(words) > 2):
            raise InvalidInput(f"tags are written ',a,b,', not {words[:40]!r}")
        SETTERS["tags"](job, words[1:-1], _DEFAULTS)
    _check_conditions(fields, job)


def _check_conditions(fields: Mapping[str, object], job: NewJob) -> None:
    for name, field in _CONDITIONS.items():
        if fields[name] is not None:
            SETTERS[field](job, fields[name], _DEFAULTS)
    if fields["needs"] is not None and conditions(job).needs != fields["needs"]:
        # Workers compare it letter by letter.
        raise InvalidInput(f"needs must be written {conditions(job).needs!r}", _AGAIN)
    if fields["rules"] is not None:
        _check_rules(str(fields["rules"]), job)
    for name in ("held", "unmet"):
        _check_mark(fields, name)
    _check_range(fields, "waits", 1, 1_000_000)
    _check_notices(fields)
    _check_range(fields, "progress", 0, 100)
    if fields["schedule"] is not None:
        check_name(fields["schedule"])
    reasons = (fields["held"], fields["waits"], fields["job_group"])
    if fields["state"] == states.BLOCKED and reasons == (None, None, None):
        raise InvalidInput("the job is blocked, but by nothing", "make it pending, or set held to 1")


def _check_notices(fields: Mapping[str, object]) -> None:
    _check_rule(fields)
    if fields["about"] is not None:
        check_id(fields["about"], "about")
    elif fields["input"] is not None:
        check_input(fields["input"])


def _check_rule(fields: Mapping[str, object]) -> None:
    """Of a job or a queue. It must be what we would have stored ourselves."""
    if fields["notify"] is None:
        return
    rule = read_rule(str(fields["notify"]))
    said = changed(None, **rule.to_dict())
    if said != fields["notify"]:
        raise InvalidInput(f"notify must be written {said!r}" if said else "notify says nothing", _AGAIN)


def _check_rules(text: str, job: NewJob) -> None:
    """They must be what we would have stored ourselves: a worker reads them as they are."""
    rules = _nested("rules", text)
    if not isinstance(rules, dict):
        raise InvalidInput(f"rules must be an object, not {kind_of(rules)}", 'like {"ok_codes": "0,3"}')
    for name, value in rules.items():
        if name not in _RULES:
            raise InvalidInput(f"rules have no {name[:60]!r}", "known: " + ", ".join(_RULES))
        milliseconds = name == "cpu_time" and type(value) is int
        SETTERS[name](job, value / 1_000 if milliseconds else value, _DEFAULTS)
        stored = conditions(job).rules.get(name)
        if stored != value:
            raise InvalidInput(f"{name} in rules must be written {json.dumps(stored)}", _AGAIN)
    check_conditions({}, job)


def _check_dependency(fields: Mapping[str, object]) -> None:
    parent, child = _check_number(fields, "parent_seq"), _check_number(fields, "child_seq")
    if parent == child:
        raise InvalidInput(f"the job with seq {child} waits for itself", "delete this line")
    kinds = (SUCCESS, ANY, FAILURE)
    if fields["kind"] not in kinds:
        raise InvalidInput(f"unknown kind {str(fields['kind'])[:40]!r}", "choose one of " + ", ".join(kinds))
    _check_range(fields, "settled", 0, 1)


def _check_unsettled(fields: Mapping[str, object]) -> None:
    _check_number(fields, "seq")


def _check_queue(fields: Mapping[str, object]) -> None:
    check_queue(fields["name"])
    rate_of(rule_from_row([fields[name] for name in QUEUE_COLUMNS]))
    read_changes({name: fields[name] for name in _OF_QUEUES})
    _check_range(fields, "timeout", 1)
    _check_range(fields, "backoff_max", 0)
    _check_range(fields, "retry_delay", 0)
    _check_mark(fields, "draining")
    check_reason(fields["pause_reason"])
    _check_rule(fields)


def _check_group(fields: Mapping[str, object]) -> None:
    SETTERS["group"](NewJob("", 0), fields["name"], _DEFAULTS)
    _check_range(fields, "concurrency", 1, MAX_CONCURRENCY)


def _check_schedule(fields: Mapping[str, object]) -> None:
    schedule = schedule_from_row([fields[name] for name in SCHEDULE_COLUMNS])
    check_name(schedule.name)
    schedule.parsed()
    check_rules(schedule.catch_up, schedule.overlap or "none")
    job = _nested("job", schedule.job)
    if not isinstance(job, dict):
        raise InvalidInput(f"job must be an object, not {kind_of(job)}", 'like {"command": "echo hi"}')
    check_job(job, schedule.overlap, _DEFAULTS)
    _check_range(fields, "fired", 0)
    _check_range(fields, "skipped", 0)


def _nested(name: str, text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise InvalidInput(f"{name} must be JSON in a string", _AGAIN) from None


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


def _check_range(fields: Mapping[str, object], name: str, lowest: int, highest: int = _MOST) -> None:
    if fields[name] is not None:
        check_int(fields[name], name, lowest, highest)


def _check_mark(fields: Mapping[str, object], name: str) -> None:
    if fields[name] not in (None, 1):
        raise InvalidInput(f"{name} must be 1 or nothing, not {fields[name]}", _AGAIN)


_CHECKS: dict[str, Callable[[Mapping[str, object]], None]] = {
    JOBS.name: _check_job,
    ATTEMPTS.name: _check_attempt,
    DEPENDENCIES.name: _check_dependency,
    UNSETTLED.name: _check_unsettled,
    QUEUES.name: _check_queue,
    JOB_GROUPS.name: _check_group,
    SCHEDULES.name: _check_schedule,
}
