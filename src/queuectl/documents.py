"""What is shown of jobs, workers and schedules as JSON, the same by every interface.

A job by itself is shown by `Job.to_dict`; these need the store, or put several things together.
"""

from __future__ import annotations

import json
from shlex import quote

from queuectl.config.settings import KEYS
from queuectl.config.sources import gather
from queuectl.config.values import Value
from queuectl.core.dealing import parse_queues, queue_names
from queuectl.core.durations import format_duration
from queuectl.core.job import DEFAULT_QUEUE
from queuectl.core.pieces import read
from queuectl.core.runtimes import percent_of
from queuectl.core.states import PROCESSING
from queuectl.core.times import iso
from queuectl.estimating import usual_seconds
from queuectl.graphs import depends_on
from queuectl.notices import documents
from queuectl.postmortem import deaths_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queuectl.core.job import Job
    from queuectl.core.schedules import Schedule
    from queuectl.queue import Queue
    from queuectl.store.messages import Worker

__all__ = ["command_line", "job_document", "schedule_document", "settings_document", "worker_document"]


def job_document(queue: Queue, job: Job) -> dict[str, object]:
    attempts = queue.attempts(job)
    deaths = {run: death.to_dict() for run, death in deaths_of(queue, job, attempts).items()}
    history = [{**attempt.to_dict(), "report": deaths.get(attempt.run)} for attempt in attempts]
    if job.state == PROCESSING and len(history) < job.runs:
        history.append(_running(job))
    read = {} if job.input is None else {"input": job.input}
    more = {"usual_seconds": usual_seconds(queue, job), **documents(queue, job)}
    return {**job.to_dict(), **read, **depends_on(queue, job), **more, "history": history}


def _running(job: Job) -> dict[str, object]:
    """The attempt that goes on, in the form of those that are over."""
    return {
        "attempt": job.runs,
        "started_at": iso(job.started_at),
        "finished_at": None,
        "outcome": "running",
        "exit_code": None,
        "signal": None,
        "worker_id": job.worker_id,
        "error": None,
        "report": None,
    }


def worker_document(worker: Worker) -> dict[str, object]:
    return {
        "id": worker.id,
        "pid": worker.pid,
        "host": worker.host,
        "state": "stopping" if worker.control else "busy" if worker.running else "idle",
        "concurrency": worker.concurrency,
        "running": worker.running,
        "queues": _queues(worker),
        "weights": parse_queues(worker.queues)[1] if worker.queues else None,
        "provides": read(worker.provides) or None,
        "supervisor_pid": worker.supervisor,
        "memory_kb": worker.memory_kb,
        "version": worker.version,
        "started_at": iso(worker.started_at),
        "last_heartbeat": iso(worker.seen_at),
    }


def _queues(worker: Worker) -> list[str] | None:
    """None: all of them. None at all are those of a `run` that works for its own job."""
    if worker.queues is None:
        return None
    return queue_names(worker.queues) if worker.queues else []


def schedule_document(schedule: Schedule, times: list[int]) -> dict[str, object]:
    return {**schedule.to_dict(), "next_times": [iso(ms) for ms in times]}


def command_line(job: Job) -> str:
    """The `queuectl enqueue` that makes a job like this one; values of its environment are not told."""
    words = ["queuectl", "enqueue"]
    for option, value in (
        ("--queue", None if job.queue == DEFAULT_QUEUE else job.queue),
        ("--priority", job.priority or None),
        ("--max-retries", job.max_retries),
        ("--timeout", _timeout(job)),
        ("--cwd", job.cwd),
        ("--needs", job.needs),
        ("--group", job.job_group),
        ("--unique-key", job.unique_key),
    ):
        if value is not None:
            words += [option, str(value)]
    wishes = job.wishes()
    ends = wishes.get("notify_on")
    words += ["--notify", str(wishes["notify"])] if "notify" in wishes else []
    words += ["--notify-on", ",".join(ends)] if isinstance(ends, list) else []
    words += ["--stdin", "…"] if job.input is not None else []
    for tag in job.tag_list():
        words += ["--tag", tag]
    for name in job.environment():
        words += ["--env", f"{name}=…"]
    argv = json.loads(job.argv) if job.argv else None
    # Not behind `--`: a line that begins with a brace would be taken for JSON.
    words += ["--", *argv] if argv else ["--command", job.command]
    return " ".join(quote(word) for word in words)


def _timeout(job: Job) -> str | None:
    percent = percent_of(job)
    if percent is not None:
        return f"{percent}%"
    return format_duration(job.timeout) if job.timeout else None


def settings_document(queue: Queue) -> dict[str, dict[str, object]]:
    """All settings, their values and where these come from."""
    gathered = gather(queue.store.stored_config())
    return {key.name: Value(key, gathered).to_dict() for key in KEYS.values()}
