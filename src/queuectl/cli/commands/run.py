"""queuectl run: enqueue a job, follow its output, exit with its exit code."""

from __future__ import annotations

import errno
import os
import sys
import threading

from queuectl.app import serving_workers
from queuectl.cli.jobspec import add_job_options, checked_fields, current_directory, parse_words
from queuectl.cli.options import open_queue, parser
from queuectl.cli.output import clean, print_json, say
from queuectl.core import outcome as kinds
from queuectl.core import states
from queuectl.core.spec import job_from_fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from queuectl.cli.options import Parser
    from queuectl.core.job import Attempt, Job
    from queuectl.queue import Queue

_ABOUT = """Enqueue a job, print what it prints, and exit with its exit code (124 on timeout,
128+n on signal n). A worker runs it; if none serves its queue, this command does.
It is not retried unless --max-retries says so."""

_EXAMPLES = """
  queuectl run -- echo hello
  queuectl run "make -j4 && ./deploy" --timeout 10m
  queuectl run --max-retries 3 -- ./flaky-test
"""

_TIMED_OUT = 124
_NOT_STARTED = 126
_NOT_FOUND = 127
_CANCELLED = 130


def build_parser() -> Parser:
    result = parser("run", _ABOUT, _EXAMPLES)
    add_job_options(result)
    return result


def main(words: list[str]) -> int:
    options = parse_words(build_parser(), words)
    fields = checked_fields(options)
    with open_queue(options) as queue:
        defaults = queue.defaults(cwd=current_directory(options))
        defaults.max_retries = 0  # somebody is waiting for the answer
        job = job_from_fields(fields, defaults)
        queue.enqueue_jobs([job])
        id = str(job.id)
        try:
            stored = queue.get(id)
            served = bool(serving_workers(queue.store, stored.queue))
            # What needs resources waits for a worker that has them: here is nobody who counts them.
            if stored.needs is not None or stored.state == states.BLOCKED or served:
                _note_why_it_waits(stored, served=served)
                ended = _follow(queue, id, options)
            else:
                ended = _run_here(queue, stored, options)
        except KeyboardInterrupt:
            # Whoever runs a command in a terminal and presses Ctrl+C wants that command to end.
            say(f"\ncancelling job {id}")
            ended = _cancel(queue, id)
        return _finish(queue, ended, options)


def _note_why_it_waits(job: Job, *, served: bool) -> None:
    """Or somebody sits in front of a command that says nothing, perhaps for ever."""
    if not served:
        say(f"note: job {job.id} waits, and no worker is running. See: queuectl explain {job.id}")
    elif job.state == states.BLOCKED:
        say(f"note: job {job.id} has to wait. See: queuectl explain {job.id}")
    elif job.needs is not None:
        say(f"note: job {job.id} waits for a worker with {job.needs}. See: queuectl explain {job.id}")


def _follow(queue: Queue, id: str, options: argparse.Namespace) -> Job:
    from queuectl.cli.logview import LogView
    from queuectl.outputs import follow

    view = LogView()
    write = (lambda _chunk: None) if options.json else view.write
    try:
        return follow(queue, id, write=write, begin=lambda _run, started: view.begin(started))
    except BrokenPipeError:
        # `queuectl run … | head -1`: nobody reads on, and a command in a pipe would end too.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return _cancel(queue, id)
    finally:
        view.end()


def _cancel(queue: Queue, id: str) -> Job:
    if queue.get(id).state not in states.TERMINAL:
        queue.cancel(id)
    queue.wait([id], timeout=queue.settings.kill_grace / 1000 + 2)
    return queue.get(id)


def _run_here(queue: Queue, job: Job, options: argparse.Namespace) -> Job:
    """Be a worker for this one job, while a thread of its own shows the output."""
    from queuectl.app import WorkerSpec, build_worker
    from queuectl.queue import Queue as Another

    def interrupted() -> None:
        if queue.get(job.id).state not in states.TERMINAL:
            queue.cancel(job.id)  # and the viewer sees it end

    loop = build_worker(queue, WorkerSpec(concurrency=1), only=job.seq, interrupted=interrupted)

    def show() -> None:
        try:
            with Another.open(queue.store.location.url) as other:
                _follow(other, job.id, options)
        finally:
            loop.finish()

    viewer = threading.Thread(target=show, name="viewer")
    viewer.start()
    loop.run()
    viewer.join()
    return queue.get(job.id)


def _finish(queue: Queue, job: Job, options: argparse.Namespace) -> int:
    attempts = queue.attempts(job)
    code = _exit_code(job, attempts[-1].outcome if attempts else None)
    if options.json:
        history = [attempt.to_dict() for attempt in attempts]
        texts = _texts(queue, job, attempts[-1]) if attempts else {}
        print_json({**job.to_dict(), **texts, "history": history})
    elif job.state != states.COMPLETED:
        sys.stdout.flush()
        say(f"job {job.id} {job.state}: {clean(job.last_error or '')}")
    return code


def _texts(queue: Queue, job: Job, attempt: Attempt) -> dict[str, str]:
    from queuectl.core.chunks import STDERR, STDOUT
    from queuectl.outputs import stored_output

    streams = {STDOUT: bytearray(), STDERR: bytearray()}
    for chunk in stored_output(queue, job, attempt):
        if chunk.stream in streams:
            streams[chunk.stream] += chunk.data
    return {
        "stdout": streams[STDOUT].decode("utf-8", "replace"),
        "stderr": streams[STDERR].decode("utf-8", "replace"),
    }


def _exit_code(job: Job, outcome: str | None) -> int:
    if job.state == states.COMPLETED:
        return 0
    if job.state == states.CANCELLED:
        return _CANCELLED
    if outcome == kinds.TIMEOUT:
        return _TIMED_OUT
    if job.signal is not None:
        return 128 + job.signal
    if job.exit_code:
        return job.exit_code
    return _NOT_FOUND if os.strerror(errno.ENOENT) in (job.last_error or "") else _NOT_STARTED
