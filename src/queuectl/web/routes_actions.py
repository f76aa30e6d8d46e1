"""Many jobs at once: cancel, retry, hold, release, change or delete those named, or all that match."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse

from queuectl import editing, system
from queuectl.core import states
from queuectl.core.times import iso
from queuectl.errors import InvalidInput, Refused
from queuectl.queue import Queue
from queuectl.selecting import possible
from queuectl.store.messages import JobFilter
from queuectl.web import answers, bodies
from queuectl.web.describing import gives
from queuectl.web.reading import FromPool, JsonObject, body_filter, encode_cause, take

router = APIRouter(tags=["jobs"])
_FIRST_IDS = 20
_MOST_IDS = 100_000

Many = Callable[[Queue, JobFilter], int]


class _Action:
    """From which states, and how."""

    __slots__ = ("held", "many", "sources")

    def __init__(self, sources: tuple[str, ...], many: Many, held: bool | None = None) -> None:
        self.sources = sources
        self.many = many
        self.held = held


ACTIONS = {
    "cancel": _Action((*states.CANCELLABLE, states.PROCESSING), Queue.cancel_matching),
    "retry": _Action(states.RETRYABLE, Queue.retry_matching),
    "delete": _Action(states.REMOVABLE, Queue.remove_matching),
    "hold": _Action(editing.WAITING, editing.hold_matching, held=False),
    "release": _Action((states.BLOCKED,), editing.release_matching, held=True),
    "edit": _Action(editing.WAITING, editing.edit_matching),  # type: ignore[arg-type]  # wants changes
}


@router.post("/jobs/actions", **gives(answers.Done, body=bodies.ACTION))
def act(pool: FromPool, body: JsonObject, request: Request) -> JSONResponse:
    """Do something with many jobs, or (dry_run) only say with how many it would be done."""
    verb, ids, filter, all, dry_run, changes = take(
        body, action=str, ids=list, filter=dict, all=bool, dry_run=bool, changes=dict
    )
    if verb not in ACTIONS:
        raise InvalidInput(f"unknown action {str(verb)[:40]!r}", "choose from " + ", ".join(ACTIONS))
    wanted = _wanted(ids, filter, all, now=request.app.state.clock.now())
    action = ACTIONS[verb]
    chosen = _possible(wanted, verb, action)
    with pool.queue() as queue:
        many = _many(queue, verb, changes)
        first = [job.id for job in queue.store.page(chosen, limit=_FIRST_IDS)]
        count = queue.store.count(chosen) if dry_run else many(queue, chosen)
    return JSONResponse({"action": verb, "dry_run": bool(dry_run), "count": count, "ids": first})


def _possible(wanted: JobFilter, verb: str, action: _Action) -> JobFilter:
    """Those of them for which it is possible."""
    if action.held is not None and wanted.held is not None and wanted.held != action.held:
        now, only = ("held", "not held") if wanted.held else ("not held", "held")
        raise Refused(f"cannot {verb} jobs that are {now}", f"only those that are {only}")
    return possible(wanted, verb, action.sources, held=action.held)


def _many(queue: Queue, verb: str, fields: dict[str, object] | None) -> Many:
    if verb != "edit":
        if fields is not None:
            raise InvalidInput(f"changes do not go with {verb}", "they are for edit")
        return ACTIONS[verb].many
    if fields and ("command" in fields or "argv" in fields):
        raise InvalidInput("a command is changed for one job at a time", "PATCH /api/v1/jobs/{id}")
    return partial(editing.edit_matching, changes=editing.Changes(fields or {}, queue.defaults(cwd="/")))


def _wanted(
    ids: list[object] | None, filter: dict[str, object] | None, all: bool | None, *, now: int
) -> JobFilter:
    if sum(one is not None and one is not False for one in (ids, filter, all)) != 1:
        raise InvalidInput("which jobs?", "give ids, a filter, or all: true; one of the three")
    if ids is not None:
        if not ids or not all_text(ids) or len(ids) > _MOST_IDS:
            raise InvalidInput("ids must be a list of job ids", 'like ["job1", "job2"]')
        return JobFilter(ids=tuple(map(str, ids)))
    if filter is None:
        return JobFilter()
    found = body_filter(filter, now=now)
    # Also if it has words: a state "all" and an empty search restrict nothing.
    restricted = (found.queue, found.tag, found.created_after, found.created_before, found.held, found.cause)
    if not (found.states or found.text or any(one is not None for one in restricted)):
        raise InvalidInput("the filter is empty", "to mean every job, say all: true")
    return found


def all_text(values: list[object]) -> bool:
    return all(isinstance(value, str) and value.isascii() for value in values)  # ids are


@router.get("/dead-letters/groups", **gives(answers.Causes))
def groups(pool: FromPool, queue: Annotated[str | None, Query(max_length=200)] = None) -> JSONResponse:
    """The dead jobs by the cause of their death, the most frequent first."""
    with pool.queue() as opened:
        found = opened.store.causes(queue)
        examples = {job.seq: job.id for job in opened.store.by_numbers([one.example for one in found[:200]])}
    return JSONResponse(
        {
            "total": sum(one.count for one in found),
            "groups": [
                {
                    "cause": encode_cause(one.cause),
                    "title": _title(*one.cause[:2]),
                    "exit_code": one.cause[0],
                    "signal": one.cause[1],
                    "error": one.cause[2],
                    "count": one.count,
                    "queues": one.queues,
                    "first_at": iso(one.first_at),
                    "last_at": iso(one.last_at),
                    "example": examples.get(one.example),
                }
                for one in found[:200]
            ],
        }
    )


def _title(exit_code: int | None, signal: int | None) -> str:
    if signal is not None:
        return f"killed by {system.signal_name(signal)}"
    return "did not run to its end" if exit_code is None else f"exit code {exit_code}"
