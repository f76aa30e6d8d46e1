"""Jobs over HTTP: bring in, look at, change, delete one."""

from __future__ import annotations

import json
import threading
from hashlib import sha256
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Query
from fastapi.responses import JSONResponse

from queuectl import editing
from queuectl.arriving import batches_of
from queuectl.core.batches import ids_of
from queuectl.core.job import Job
from queuectl.core.spec import job_from_fields
from queuectl.documents import command_line, job_document
from queuectl.errors import DuplicateId, InvalidInput
from queuectl.explaining import explain_job
from queuectl.queue import Queue
from queuectl.store.messages import JobFilter
from queuectl.web import answers, bodies
from queuectl.web.describing import gives
from queuectl.web.problems import Problem
from queuectl.web.reading import (
    FromPool,
    FromTrace,
    JsonObject,
    QueryFilter,
    decode_cursor,
    encode_cursor,
    take,
)

router = APIRouter(tags=["jobs"])
_ONCE = threading.Lock()
MOST_IN_BATCH = 100_000


@router.post("/jobs", status_code=201, **gives(answers.Job, 201, 200, body=bodies.JOB_FIELDS))
def enqueue(
    pool: FromPool,
    body: JsonObject,
    trace: FromTrace,
    idempotency_key: Annotated[str | None, Header(max_length=255)] = None,
) -> JSONResponse:
    """Store a job. With an Idempotency-Key the same request, sent again, gives the same job."""
    with pool.queue(trace, settings=True) as queue:
        if idempotency_key:
            job, new = _once(queue, body, idempotency_key)
        else:
            job, new = _stored(queue, body), True
        headers = {"Location": f"/api/v1/jobs/{job.id}"} | ({} if new else {"Idempotency-Replayed": "true"})
        return JSONResponse(job.to_dict(), 201 if new else 200, headers)


def _stored(queue: Queue, fields: dict[str, Any]) -> Job:
    new = job_from_fields(fields, queue.defaults())
    queue.enqueue_jobs([new])
    assert new.id is not None
    instead = new.conditions.instead if new.conditions is not None else None
    return queue.get(instead or new.id)  # another one has its unique key and has not ended


def _once(queue: Queue, body: dict[str, Any], key: str) -> tuple[Job, bool]:
    """The id is made of the key, so that the store itself refuses a second job, whoever crashes when."""
    if "id" in body:
        raise InvalidInput("both an id and an Idempotency-Key are given", "give one of the two")
    prefix = "once-" + sha256(key.encode("utf-8", "replace")).hexdigest()[:24] + "-"
    id = prefix + sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()[:16]
    with _ONCE:  # or two different requests with one key, at the same time, would both be the first
        known = queue.store.ids_from(prefix, limit=1)
        if known and known[0] != id:
            raise Problem(
                422,
                "idempotency_key_reused",
                "this Idempotency-Key came with another request before",
                "a new request needs a new key",
            )
        if known:
            return queue.get(id), False
        try:
            return _stored(queue, {**body, "id": id}), True
        except DuplicateId:
            if queue.store.get(id) is None:
                raise  # it is another's id or unique key that is in the way
            return queue.get(id), False


@router.post("/jobs/batch", status_code=201, **gives(answers.Ids, 201, body=bodies.BATCH))
def enqueue_many(pool: FromPool, body: JsonObject, trace: FromTrace) -> JSONResponse:
    """Store many jobs, all or none; each is an object of fields or a shell line."""
    jobs, if_exists = take(body, jobs=list, if_exists=str)
    if not jobs:
        raise InvalidInput("there are no jobs", 'like {"jobs": ["echo one", {"command": "echo two"}]}')
    if len(jobs) > MOST_IN_BATCH:
        raise Problem(413, "too_large", f"at most {MOST_IN_BATCH:,} jobs at once", "send them in parts")
    with pool.queue(trace, settings=True) as queue:
        batches = list(batches_of(jobs, queue.defaults()))
        new = queue.enqueue_batches(batches, if_exists=if_exists or "fail")
    return JSONResponse({"count": new, "ids": [id for batch in batches for id in ids_of(batch)]}, 201)


@router.get("/jobs", **gives(answers.Page))
def list_jobs(
    pool: FromPool,
    filter: QueryFilter,
    sort: Literal["created", "updated", "finished", "priority", "due", "id"] = "created",
    reverse: bool = False,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
    cursor: Annotated[str | None, Query(max_length=200)] = None,
    count: Annotated[bool, Query(description="say how many there are in all")] = False,
) -> JSONResponse:
    """A page of jobs, the oldest first; `next` leads to the following one."""
    order = f"{sort} down" if reverse else sort
    at = decode_cursor(cursor, order)
    by_key = sort == "created"
    with pool.queue() as queue:
        jobs = queue.store.page(
            filter,
            limit=limit + 1,
            after=at if by_key else None,
            offset=0 if by_key else at or 0,
            sort=sort,
            descending=reverse,
        )
        total = queue.store.count(filter) if count else None
    more, jobs = len(jobs) > limit, jobs[:limit]
    following = None
    if more:
        following = encode_cursor(order, jobs[-1].seq if by_key else (at or 0) + limit)
    return JSONResponse({"jobs": [job.to_dict() for job in jobs], "next": following, "total": total})


@router.get("/jobs/{id}", **gives(answers.JobDocument))
def show(pool: FromPool, id: str) -> JSONResponse:
    """Everything about a job, with every attempt."""
    with pool.queue() as queue:
        return JSONResponse(shown(queue, queue.get(id)))


def shown(queue: Queue, job: Job) -> dict[str, object]:
    return {**job_document(queue, job), "command_line": command_line(job)}


@router.patch("/jobs/{id}", **gives(answers.Job, body=bodies.CHANGES))
def change(pool: FromPool, id: str, body: JsonObject) -> JSONResponse:
    """Change a job that waits; null takes a field away."""
    with pool.queue() as queue:
        changes = editing.Changes(body, queue.defaults(cwd="/"))
        return JSONResponse(editing.edit(queue, id, changes).to_dict())


@router.delete("/jobs/{id}", **gives(answers.Deleted))
def delete(pool: FromPool, id: str) -> JSONResponse:
    """Delete a job that does not run, with its attempts and output."""
    with pool.queue() as queue:
        queue.remove(id)
    return JSONResponse({"deleted": 1})


@router.post("/jobs/{id}/cancel", **gives(answers.Job))
def cancel(pool: FromPool, id: str) -> JSONResponse:
    """Stop a job; of one that runs, its worker is asked to end it."""
    with pool.queue() as queue:
        queue.cancel(id)
        return JSONResponse(queue.get(id).to_dict())


@router.post("/jobs/{id}/retry", **gives(answers.Job))
def retry(pool: FromPool, id: str) -> JSONResponse:
    """Run a dead, cancelled or failed job again now."""
    with pool.queue() as queue:
        return JSONResponse(queue.retry(id).to_dict())


@router.post("/jobs/{id}/hold", **gives(answers.Job))
def hold(pool: FromPool, id: str) -> JSONResponse:
    """Do not run a job until it is released."""
    with pool.queue() as queue:
        return JSONResponse(editing.hold(queue, id).to_dict())


@router.post("/jobs/{id}/release", **gives(answers.Job))
def release(pool: FromPool, id: str) -> JSONResponse:
    """Let a held job go on."""
    with pool.queue() as queue:
        return JSONResponse(editing.release(queue, id).to_dict())


@router.get("/jobs/{id}/attempts", **gives(answers.Attempts))
def attempts(pool: FromPool, id: str) -> JSONResponse:
    """Every attempt at a job that is over, oldest first."""
    with pool.queue() as queue:
        found = queue.attempts(queue.get(id))
    return JSONResponse({"attempts": [attempt.to_dict() for attempt in found]})


@router.get("/jobs/{id}/explain", **gives(answers.Explanation))
def explain(pool: FromPool, id: str) -> JSONResponse:
    """Why a job does not run, or how it ended."""
    with pool.queue() as queue:
        return JSONResponse(explain_job(queue, id).to_dict())


__all__ = ["JobFilter", "router", "shown"]
