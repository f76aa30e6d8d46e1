"""A stored schedule, and what is to be done about it at a given time: which jobs, and when again.

The calendar is left to `recurrence`; that a firing happens once, and whether the job before it still runs, is
left to the store.
"""

from __future__ import annotations

import json
import re

from queuectl.core.conditions import conditions
from queuectl.core.recurrence import CATCH_UP, OVERLAP, due, in_words, parse_recurrence
from queuectl.core.spec import FIELDS, Defaults, job_from_fields
from queuectl.core.times import iso
from queuectl.errors import InvalidInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from queuectl.core.job import NewJob
    from queuectl.core.recurrence import Recurrence

SKIP, QUEUE, ALLOW = OVERLAP  # what if the job of an earlier firing has not ended

# Shorter than an id: those of its jobs begin with it, and so does the name of its group.
_NAME = r"[A-Za-z0-9_][A-Za-z0-9._\-:@=+]{0,49}"

_REFUSED = {
    "id": "every firing makes an id of its own: NAME-20261201T030000Z",
    **dict.fromkeys(("run_at", "delay"), "the schedule itself says when"),
    **dict.fromkeys(
        ("after", "depends_on", "after_any", "after_fail"),
        "a job that fires again and again has no one parent",
    ),
    "name": "only jobs of one file have names",
    **dict.fromkeys(("unique_key", "if_live"), "the overlap rule skip keeps a second job out"),
}


class Schedule:
    """A row of the table. Times are epoch milliseconds."""

    __slots__ = (
        "catch_up",
        "created_at",
        "fired",
        "job",
        "last_at",
        "last_job",
        "name",
        "next_at",
        "overlap",
        "paused_at",
        "recurrence",
        "skipped",
        "updated_at",
        "zone",
    )

    name: str
    recurrence: str
    zone: str
    catch_up: str
    overlap: str
    job: str  # JSON: the fields of each job
    next_at: int | None  # None: never again
    paused_at: int | None
    last_at: int | None  # the last firing that made a job
    last_job: str | None
    fired: int  # jobs that it made
    skipped: int  # firings that made none
    created_at: int
    updated_at: int  # of what people say about it; grows with every change, and with every firing

    def parsed(self) -> Recurrence:
        """When it fires; raises InvalidInput if this machine cannot tell."""
        return parse_recurrence(self.recurrence, self.zone)

    def fields(self) -> dict[str, Any]:
        """Those of its jobs."""
        try:
            found = json.loads(self.job)
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise InvalidInput(f"the job of schedule {self.name} is damaged", "add the schedule anew")
        return found

    def to_dict(self) -> dict[str, object]:
        """As every interface shows it."""
        try:
            fields, words = self.fields(), in_words(self.parsed())
        except InvalidInput as error:
            fields, words = {}, f"damaged: {error.message}"
        if fields.get("env"):
            fields["env"] = dict.fromkeys(fields["env"], "***")  # names only, as in a job
        return {
            "name": self.name,
            "schedule": self.recurrence,
            "zone": self.zone,
            "in_words": words,
            "catch_up": self.catch_up,
            "overlap": self.overlap,
            "job": fields,
            "paused": self.paused_at is not None,
            "paused_at": iso(self.paused_at),
            "next_at": iso(self.next_at) if self.paused_at is None else None,
            "last_at": iso(self.last_at),
            "last_job": self.last_job,
            "fired": self.fired,
            "skipped": self.skipped,
            "created_at": iso(self.created_at),
            "updated_at": iso(self.updated_at),
        }


# The order of columns in every SELECT; `schedule_from_row` relies on it.
SCHEDULE_COLUMNS = tuple(Schedule.__annotations__)


def schedule_from_row(row: Sequence[object]) -> Schedule:
    schedule = Schedule.__new__(Schedule)
    for name, value in zip(SCHEDULE_COLUMNS, row, strict=True):
        setattr(schedule, name, value)
    return schedule


class Firing:
    """What a schedule shall do now: make these jobs, count those left out, and wait for the next time."""

    __slots__ = ("jobs", "last_at", "next_at", "skipped")

    def __init__(self, jobs: list[NewJob], skipped: int, last_at: int | None, next_at: int | None) -> None:
        self.jobs = jobs
        self.skipped = skipped
        self.last_at = last_at
        self.next_at = next_at


def check_name(text: object) -> str:
    if not isinstance(text, str) or not re.fullmatch(_NAME, text):
        raise InvalidInput(
            f"schedule name {str(text)[:40]!r} is not allowed",
            "use 1 to 50 letters, digits and . _ - : @ = +, not starting with one of these but _",
        )
    return text


def check_rules(catch_up: str, overlap: str | None) -> tuple[str, str]:
    """The two rules as they hold: who catches up on everything wants to queue, unless told otherwise."""
    if catch_up not in CATCH_UP:
        raise InvalidInput(f"unknown catch-up rule {catch_up[:40]!r}", "choose " + ", ".join(CATCH_UP))
    overlap = overlap or (QUEUE if catch_up == "all" else SKIP)
    if overlap not in OVERLAP:
        raise InvalidInput(f"unknown overlap rule {overlap[:40]!r}", "choose " + ", ".join(OVERLAP))
    if catch_up == "all" and overlap == SKIP:
        raise InvalidInput(
            "catch-up all makes several jobs at once, of which overlap skip would keep only one",
            "choose the overlap rule queue or allow, or catch up on one",
        )
    return catch_up, overlap


def check_job(fields: dict[str, object], overlap: str, defaults: Defaults) -> dict[str, object]:
    """The fields as they are stored, if jobs can be made of them again and again."""
    given = {name: value for name, value in fields.items() if value is not None}
    for name, reason in _REFUSED.items():
        if name in given:
            raise InvalidInput(f"the job of a schedule cannot have {name}", reason).about(name)
    job = job_from_fields(given, defaults)
    if overlap == QUEUE and job.conditions is not None and job.conditions.group is not None:
        raise InvalidInput(
            "overlap queue makes a group of its own, and a job is in one group",
            "leave out the group, or choose the overlap rule skip or allow",
        )
    kept = {name: value for name, value in given.items() if name in FIELDS}
    return {**kept, "cwd": job.cwd}  # where the schedule was made, not where a worker is


def job_of(schedule: Schedule, id: str, defaults: Defaults) -> NewJob:
    """The job of one firing."""
    job = job_from_fields(schedule.fields(), defaults)
    job.id = id
    mine = conditions(job)
    mine.schedule = schedule.name
    if schedule.overlap == QUEUE:
        mine.group, mine.group_limit = f"schedule:{schedule.name}", 1
    return job


def firing_id(name: str, at: int) -> str:
    """`nightly-20261201T030000Z`: the same whoever fires, so that nobody can do it twice."""
    text = str(iso(at))
    return f"{name}-{text[:19].replace('-', '').replace(':', '')}Z"


def name_followers(jobs: Iterable[NewJob]) -> list[NewJob]:
    """The same, with ids for those that follow a job of a firing: as certain as that job's own."""
    named = list(jobs)
    for job in named:
        if job.id is None and job.conditions is not None:
            for kind, parent in job.conditions.after:
                assert not isinstance(parent, str)
                job.id = f"{parent.id}-on-{kind}"
    return named


def plan(schedule: Schedule, defaults: Defaults) -> Firing | None:
    """What is due at `defaults.now`; None if nothing is. Raises InvalidInput for a damaged schedule."""
    now = defaults.now
    if schedule.next_at is None or schedule.next_at > now:
        return None
    check_rules(schedule.catch_up, schedule.overlap)
    found = due(schedule.parsed(), schedule.next_at, now, schedule.catch_up)
    jobs = [job_of(schedule, firing_id(schedule.name, at), defaults) for at in found.times]
    return Firing(jobs, found.missed, found.times[-1] if found.times else None, found.next_at)
