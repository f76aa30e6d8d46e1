"""The tool run: a job and its result in one call. Without a worker, a process of ours does it.

That process is `queuectl run`: it is a worker for this one job, and reports like any other. When this server
ends, so do its jobs: whoever wants them to go on without the agent starts a worker.
"""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
import time

from queuectl.agents.acting import store_job
from queuectl.agents.looking import with_output
from queuectl.app import open_queue, serving_workers
from queuectl.core import states
from queuectl.errors import QueuectlError, Refused
from queuectl.queue import JobFilter
from queuectl.running import can_run_here, exit_code

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from queuectl.agents.desk import Answer, Desk, Patience
    from queuectl.core.job import Job
    from queuectl.queue import Queue

_log = logging.getLogger(__name__)

MOST = 8  # jobs that we run at a time
_END_WITHIN_S = 1.5  # then they go on ending their jobs without us


class Runs:
    """The processes that run jobs for us. `end_within_s`: for all of them to end when we do."""

    def __init__(self, *, end_within_s: float = _END_WITHIN_S) -> None:
        self._end_within_s = end_within_s
        self._lock = threading.Lock()
        self._processes: list[tuple[subprocess.Popen[bytes], str, str]] = []  # with its store and its job
        self._taken = 0  # places of those that are about to start
        self._closed = False

    def reserve(self) -> bool:
        """A place for one more; `start` or `release` gives it back."""
        with self._lock:
            self._processes = [one for one in self._processes if one[0].poll() is None]
            if self._closed or len(self._processes) + self._taken >= MOST:
                return False
            self._taken += 1
            return True

    def release(self) -> None:
        with self._lock:
            self._taken -= 1

    def start(self, url: str, id: str) -> subprocess.Popen[bytes]:
        """-P keeps the current directory out of its module path; an address may hold a password, which `ps`
        would show, so it goes by the environment.
        """
        with self._lock:
            if self._closed:
                raise Refused("this server is ending", "the job is stored; start a worker to run it")
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", "queuectl", "run", "--json", "--stored", id],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env={**os.environ, "QUEUECTL_DB": url},
                start_new_session=True,  # a signal to our group is ours to pass on
            )
            self._processes.append((process, url, id))
            return process

    def close(self) -> None:
        """End them; each cancels its job. Nobody starts another one afterwards."""
        with self._lock:
            self._closed = True
            living = [one for one in self._processes if one[0].poll() is None]
        for process, _, _ in living:
            process.terminate()
        deadline = time.monotonic() + self._end_within_s
        for process, url, id in living:
            try:
                process.wait(max(deadline - time.monotonic(), 0))
            except subprocess.TimeoutExpired:
                continue  # its job does not listen to TERM; it sees to that by itself
            if process.returncode == -signal.SIGTERM:
                _cancel(url, id)


def _cancel(url: str, id: str) -> None:
    """The job of a process that had not come so far as to hear of its end: a worker would run it one day."""
    try:
        with open_queue(url, create=False) as queue:
            queue.cancel_matching(JobFilter(ids=(id,)))
    except QueuectlError as error:
        _log.warning("job %s could not be cancelled: %s", id, error.message)


def run(desk: Desk, asked: dict[str, Any], patience: Patience) -> Answer:
    with desk.queue() as queue:
        place = desk.runs.reserve()
        try:
            job, notes, process = _begin(desk, queue, asked, place=place)
        finally:
            if place:
                desk.runs.release()

        def lost() -> bool:
            return process is not None and process.poll() is not None

        ended = patience.for_jobs(queue, [job.id], asked["wait_seconds"], hopeless=lost)
        if lost() and not ended:
            notes.append("the process that ran it is gone; start a worker, which sees to it")
        here = process is not None
        return _result(desk, queue, queue.get(job.id), asked, notes=notes, here=here, ended=ended)


def _begin(
    desk: Desk, queue: Queue, asked: dict[str, Any], *, place: bool
) -> tuple[Job, list[str], subprocess.Popen[bytes] | None]:
    """Store it, and start a process for it if nobody else would."""
    name = str(asked.get("queue", "default"))
    if not place and not serving_workers(queue.store, name):
        raise Refused(
            f"{MOST} jobs are being run here already, and no worker serves the queue {name}",
            "wait for one of them, or start a worker: queuectl worker start",
        )
    job, notes, _ = store_job(queue, asked, max_retries=0)
    served = bool(serving_workers(queue.store, job.queue))
    process = None
    if place and not served and can_run_here(job):
        try:
            process = desk.runs.start(desk.url, job.id)
        except OSError as error:
            raise QueuectlError(
                f"job {job.id} is stored, but no process could be started: {error}", "start a worker"
            ) from None
        notes.append("no worker serves the queue: this server runs the job, which ends with the server")
    elif not served:
        notes.append(f"job {job.id} waits, and no worker is running; see explain")
    elif job.state == states.BLOCKED:
        notes.append(f"job {job.id} has to wait; see explain")
    return job, notes, process


def _result(
    desk: Desk, queue: Queue, job: Job, asked: dict[str, Any], *, notes: list[str], here: bool, ended: bool
) -> Answer:
    attempts = queue.attempts(job)
    running = job.state == states.PROCESSING and len(attempts) < job.runs
    text, truncated = "", False
    if running or attempts:
        attempt = None if running else attempts[-1]
        text, truncated = desk.output(queue, job, attempt, most=asked["output_bytes"])
    document = {
        "id": job.id,
        "state": job.state,
        "ended": ended,
        "exit_code": exit_code(job, attempts) if ended else None,
        "error": None if job.state == states.COMPLETED else job.last_error,
        "truncated": truncated,
        "run_by": "this server" if here else "worker",
        "notes": notes,
    }
    lines = [_in_words(job, document), *(f"note: {note}" for note in notes)]
    return with_output(desk, document, "\n".join(lines), text)


def _in_words(job: Job, document: dict[str, Any]) -> str:
    if not document["ended"]:
        return f"job {job.id} is {job.state}, it has not ended; come back with wait, show or logs"
    error = f": {document['error']}" if document["error"] else ""
    return f"job {job.id} {job.state}, exit code {document['exit_code']}{error}"
