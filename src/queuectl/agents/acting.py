"""The tools that change something: enqueue, cancel, retry. `run` is in `runs`."""

from __future__ import annotations

from queuectl.agents.looking import in_short
from queuectl.app import serving_workers
from queuectl.core.spec import job_from_fields
from queuectl.documents import job_document

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from queuectl.agents.desk import Answer, Desk, Patience
    from queuectl.core.job import Job
    from queuectl.queue import Queue

_OURS = ("if_exists", "wait_seconds", "output_bytes")  # arguments that are no fields of a job


def store_job(
    queue: Queue, asked: dict[str, Any], *, max_retries: int | None = None
) -> tuple[Job, list[str], bool]:
    """The job as it is stored now, what is to be said of that, and whether it is new."""
    defaults = queue.defaults()
    if max_retries is not None:
        defaults.max_retries = max_retries
    notes: list[str] = []
    job = job_from_fields({k: v for k, v in asked.items() if k not in _OURS}, defaults, notes.append)
    new = bool(queue.enqueue_jobs([job], if_exists=asked.get("if_exists", "fail")))
    stored = queue.get(str(job.id))
    if not new:
        same = (stored.command, stored.argv) == (job.command, job.argv)
        other = "" if same else "; it has another command, which was left as it is"
        notes.append(f"a job with this id exists already ({stored.state}){other}")
    return stored, notes, new


def nobody_works(queue: Queue, name: str) -> str | None:
    """What to say if no worker serves a queue."""
    if serving_workers(queue.store, name):
        return None
    option = "" if name == "default" else f" --queue {name}"
    return (
        f"no worker serves the queue {name}, so the job waits. "
        f"Start one: queuectl worker start{option}; or use the tool run, which needs none"
    )


def enqueue(desk: Desk, asked: dict[str, Any], _: Patience) -> Answer:
    with desk.queue() as queue:
        job, notes, new = store_job(queue, asked)
        idle = nobody_works(queue, job.queue)
        document = job_document(queue, job)
    notes += [idle] if idle else []
    said = "enqueued" if new else "not enqueued"
    words = [f"job {job.id} {said}; it is {job.state}", *(f"note: {note}" for note in notes)]
    return desk.answer({"job": document, "notes": notes}, "\n".join(words))


def cancel(desk: Desk, asked: dict[str, Any], patience: Patience) -> Answer:
    id = asked["id"]
    with desk.queue() as queue:
        queue.cancel(id)
        # One that runs is ended by who runs it, which takes until its grace is over.
        ended = patience.for_jobs(queue, [id], queue.settings.kill_grace / 1000 + 2)
        job = queue.get(id)
    words = f"job {id} is {job.state}" if ended else f"job {id} is being stopped"
    return desk.answer({"job": in_short(job)}, words)


def retry(desk: Desk, asked: dict[str, Any], _: Patience) -> Answer:
    with desk.queue() as queue:
        job = queue.retry(asked["id"])
        idle = nobody_works(queue, job.queue)
    notes = [idle] if idle else []
    words = [f"job {job.id} is {job.state} again", *(f"note: {note}" for note in notes)]
    return desk.answer({"job": in_short(job), "notes": notes}, "\n".join(words))
