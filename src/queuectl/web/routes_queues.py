"""Queues, schedules, workers and settings over HTTP."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Request
from fastapi.responses import JSONResponse, Response

from queuectl import queues, schedules
from queuectl.app import workers_at_work
from queuectl.config.sources import find_key
from queuectl.core.durations import parse_duration
from queuectl.core.queue_spec import read_changes
from queuectl.core.schedules import Schedule
from queuectl.core.times import parse_when
from queuectl.documents import schedule_document, settings_document, worker_document
from queuectl.errors import InvalidInput
from queuectl.fleet import ask_to_stop
from queuectl.queue import Queue
from queuectl.web import answers, bodies
from queuectl.web.describing import gives, gives_nothing
from queuectl.web.pool import Pool
from queuectl.web.reading import FromPool, JsonObject, take

router = APIRouter()
_NEXT_TIMES = 3
Name = Annotated[str, Path(max_length=200)]


# --- queues -----------------------------------------------------------------------------------------


@router.get("/queues", tags=["queues"], **gives(answers.Queues))
def list_queues(pool: FromPool) -> JSONResponse:
    """Every queue that has jobs, a rule, or a worker of its own."""
    with pool.queue() as queue:
        return JSONResponse({"queues": [view.to_dict() for view in queues.overview(queue)]})


@router.get("/queues/{name}", tags=["queues"], **gives(answers.Queue))
def show_queue(pool: FromPool, name: Name) -> JSONResponse:
    """Its jobs, its rules, its workers."""
    with pool.queue() as queue:
        return JSONResponse(queues.find(queue, name).to_dict())


@router.patch("/queues/{name}", tags=["queues"], **gives(answers.Queue, body=bodies.QUEUE_RULES))
def change_queue(pool: FromPool, name: Name, body: JsonObject) -> JSONResponse:
    """Lay down limits and defaults; null removes one."""
    with pool.queue() as queue:
        read_changes(body)  # refuses unknown names, which could be those of our own arguments
        queues.configure(queue, name, **body)
        return JSONResponse(queues.look(queue, name).to_dict())


@router.post("/queues/{name}/pause", tags=["queues"], **gives(answers.Queue, body=bodies.PAUSE))
def pause_queue(pool: FromPool, name: Name, body: JsonObject) -> JSONResponse:
    """Start no more of its jobs, until then or until it is resumed."""
    reason, until = take(body, reason=str, until=str)
    with pool.queue() as queue:
        end = None if until is None else _end(until, queue.clock.now())
        queues.pause(queue, name, reason=reason, until=end)
        return JSONResponse(queues.look(queue, name).to_dict())


def _end(text: str, now: int) -> int:
    """A moment, or how long: 2h."""
    try:
        return now + parse_duration(text, what="until")
    except InvalidInput:
        return parse_when(text, now_ms=now, what="until")


@router.post("/queues/{name}/resume", tags=["queues"], **gives(answers.Queue))
def resume_queue(pool: FromPool, name: Name) -> JSONResponse:
    """End a pause and a draining."""
    with pool.queue() as queue:
        queues.resume(queue, name)
        return JSONResponse(queues.look(queue, name).to_dict())


@router.post("/queues/{name}/drain", tags=["queues"], **gives(answers.Queue))
def drain_queue(pool: FromPool, name: Name) -> JSONResponse:
    """Take no new jobs until it is resumed; what is there is done."""
    with pool.queue() as queue:
        queues.drain(queue, name)
        return JSONResponse(queues.look(queue, name).to_dict())


# --- schedules --------------------------------------------------------------------------------------


def _document(queue: Queue, schedule: Schedule) -> dict[str, object]:
    try:
        times = schedules.next_times(queue, schedule, _NEXT_TIMES)
    except InvalidInput:
        times = []  # it is damaged, as its words say
    return schedule_document(schedule, times)


@router.get("/schedules", tags=["schedules"], **gives(answers.Schedules))
def list_schedules(pool: FromPool) -> JSONResponse:
    """Every schedule, with its next times."""
    with pool.queue() as queue:
        return JSONResponse({"schedules": [_document(queue, one) for one in schedules.every(queue)]})


@router.get("/schedules/{name}", tags=["schedules"], **gives(answers.Schedule))
def show_schedule(pool: FromPool, name: Name) -> JSONResponse:
    """One schedule, with its next times."""
    with pool.queue() as queue:
        return JSONResponse(_document(queue, schedules.get(queue, name)))


@router.put(
    "/schedules/{name}", tags=["schedules"], **gives(answers.Schedule, 200, 201, body=bodies.SCHEDULE)
)
def put_schedule(pool: FromPool, name: Name, body: JsonObject) -> JSONResponse:
    """Make a schedule, or replace the one of this name."""
    recurrence, job, zone, catch_up, overlap = take(
        body, recurrence=str, job=dict, time_zone=str, catch_up=str, overlap=str
    )
    if recurrence is None or job is None:
        raise InvalidInput("recurrence and job are needed", 'like {"recurrence": "@daily", "job": {…}}')
    with pool.queue() as queue:
        known = any(one.name == name for one in schedules.every(queue))
        schedule = schedules.add(
            queue,
            name,
            recurrence,
            job,
            zone=zone,
            catch_up=catch_up or "one",
            overlap=overlap,
            replace=True,
        )
        return JSONResponse(_document(queue, schedule), 200 if known else 201)


@router.delete("/schedules/{name}", tags=["schedules"], status_code=204, **gives_nothing())
def remove_schedule(pool: FromPool, name: Name) -> Response:
    """Its jobs stay."""
    with pool.queue() as queue:
        schedules.remove(queue, name)
    return Response(status_code=204)


@router.post("/schedules/{name}/pause", tags=["schedules"], **gives(answers.Schedule))
def pause_schedule(pool: FromPool, name: Name) -> JSONResponse:
    """Fire no more until it is resumed."""
    with pool.queue() as queue:
        return JSONResponse(_document(queue, schedules.pause(queue, name)))


@router.post("/schedules/{name}/resume", tags=["schedules"], **gives(answers.Schedule))
def resume_schedule(pool: FromPool, name: Name) -> JSONResponse:
    """Fire again, from the next time on."""
    with pool.queue() as queue:
        return JSONResponse(_document(queue, schedules.resume(queue, name)))


@router.post("/schedules/{name}/trigger", tags=["schedules"], status_code=201, **gives(answers.Job, 201))
def trigger_schedule(pool: FromPool, name: Name) -> JSONResponse:
    """Make a job of it now, also if it is paused."""
    with pool.queue() as queue:
        return JSONResponse(schedules.trigger(queue, name).to_dict(), 201)


# --- workers ----------------------------------------------------------------------------------------


@router.get("/workers", tags=["workers"], **gives(answers.Workers))
def list_workers(pool: FromPool) -> JSONResponse:
    """The workers that live, on every machine."""
    with pool.queue() as queue:
        return JSONResponse({"workers": [worker_document(one) for one in workers_at_work(queue.store)]})


@router.post("/workers/{id}/drain", tags=["workers"], **gives(answers.Worker))
def drain_worker(pool: FromPool, id: Name) -> JSONResponse:
    """It takes no more jobs, lets those it has end, and ends."""
    with pool.queue() as queue:
        return JSONResponse(worker_document(ask_to_stop(queue, id)))


@router.post("/workers/{id}/stop", tags=["workers"], **gives(answers.Worker))
def stop_worker(pool: FromPool, id: Name) -> JSONResponse:
    """It ends its jobs now, gives them back, and ends."""
    with pool.queue() as queue:
        return JSONResponse(worker_document(ask_to_stop(queue, id, now=True)))


# --- settings ---------------------------------------------------------------------------------------


@router.get("/config", tags=["config"], **gives(answers.Open))
def list_settings(pool: FromPool) -> JSONResponse:
    """All settings, their values and where these come from."""
    with pool.queue() as queue:
        return JSONResponse(settings_document(queue))


@router.put("/config/{key}", tags=["config"], **gives(answers.Setting, body=bodies.SETTING))
def put_setting(pool: FromPool, key: Name, body: JsonObject) -> JSONResponse:
    """For all who use this store."""
    [value] = take(body, value=(str, int, float, bool))
    if value is None:
        raise InvalidInput("there is no value", 'like {"value": 5}')
    return _changed(pool, key, str(value).lower() if isinstance(value, bool) else str(value))


@router.delete("/config/{key}", tags=["config"], **gives(answers.Setting))
def remove_setting(pool: FromPool, key: Name) -> JSONResponse:
    """Back to its default."""
    return _changed(pool, key, None)


def _changed(pool: Pool, key: str, value: str | None) -> JSONResponse:
    name = find_key(key).name
    with pool.queue() as queue:
        queue.set_config(key, value)
        return JSONResponse(settings_document(queue)[name])


__all__ = ["Request", "router"]
