"""queuectl run: enqueue a job, follow its output, exit with its exit code."""

from __future__ import annotations

import os
import sys
import threading
from contextlib import nullcontext

from queuectl.app import serving_workers
from queuectl.cli.interrupts import InterruptsLater, TermInterrupts
from queuectl.cli.jobspec import add_job_options, checked_fields, current_directory, parse_words, with_parents
from queuectl.cli.logview import LogView
from queuectl.cli.options import hidden, open_queue, parser
from queuectl.cli.output import clean, print_json, say
from queuectl.cli.waitnotes import note_paused
from queuectl.core import states
from queuectl.core.notices import QUEUE as NOTIFICATIONS
from queuectl.core.spec import job_from_fields
from queuectl.notices import notifications
from queuectl.outputs import follow
from queuectl.queue import JobFilter
from queuectl.running import can_run_here, exit_code, run_document

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from queuectl.cli.options import Parser
    from queuectl.core.job import Job
    from queuectl.queue import Queue

_ABOUT = """Enqueue a job, print what it prints, and exit with its exit code (124 on timeout,
128+n on signal n). A worker runs it; if none serves its queue, this command does.
It is not retried unless --max-retries says so. With --json it prints one document when
the job has ended: the job as `show --json` has it, stdout, stderr, combined (both, as they
came), truncated (whether some of it is missing here) and run_exit_code."""

_EXAMPLES = """
  queuectl run -- echo hello
  queuectl run "make -j4 && ./deploy" --timeout 10m
  queuectl run --max-retries 3 -- ./flaky-test
  queuectl run --json "make test" | jq -r .combined
"""


def build_parser() -> Parser:
    result = parser("run", _ABOUT, _EXAMPLES)
    hidden(result, "--stored", metavar="ID")  # a job that is in the store already; see agents.runs
    add_job_options(result)
    return result


def main(words: list[str]) -> int:
    options = parse_words(build_parser(), words)
    fields = {} if options.stored else checked_fields(options, "run")
    with open_queue(options) as queue:
        # Who has stored the job cancels it too, if it ends us.
        with TermInterrupts() if options.stored is None else nullcontext():
            ended = _until_its_end(queue, fields, options)
        _note_who_waits(queue, ended)
        return _finish(queue, ended, options)


def _until_its_end(queue: Queue, fields: dict[str, object], options: argparse.Namespace) -> Job:
    id = options.stored
    try:
        with InterruptsLater():  # what is stored is cancelled, not left to run on
            id = id or _enqueue(queue, fields, options)
            stored = queue.get(id)
            served = bool(serving_workers(queue.store, stored.queue))
            note_paused(queue, [JobFilter(ids=(id,))])
            here = not served and can_run_here(stored)
            if not here:
                _note_why_it_waits(stored, served=served)
        return _run_here(queue, stored, options) if here else _follow(queue, id, options)
    except KeyboardInterrupt:
        if id is None:
            raise
        # Whoever runs a command in a terminal and presses Ctrl+C wants that command to end.
        say(f"\ncancelling job {id}")
        return _cancel(queue, id)


def _enqueue(queue: Queue, fields: dict[str, object], options: argparse.Namespace) -> str:
    defaults = queue.defaults(cwd=current_directory(options))
    defaults.max_retries = 0  # somebody is waiting for the answer
    job = job_from_fields(with_parents(queue, options, fields), defaults)
    queue.enqueue_jobs([job])
    return str(job.id)


def _note_why_it_waits(job: Job, *, served: bool) -> None:
    """Or somebody sits in front of a command that says nothing, perhaps for ever."""
    if not served:
        say(f"note: job {job.id} waits, and no worker is running. See: queuectl explain {job.id}")
    elif job.state == states.BLOCKED:
        say(f"note: job {job.id} has to wait. See: queuectl explain {job.id}")
    elif job.needs is not None:
        say(f"note: job {job.id} waits for a worker with {job.needs}. See: queuectl explain {job.id}")


def _note_who_waits(queue: Queue, job: Job) -> None:
    """We run one job only; whoever is to be told of its end may have nobody to do it."""
    untold = [one.id for one in notifications(queue, job)[:1] if one.state not in states.TERMINAL]
    if untold and not serving_workers(queue.store, NOTIFICATIONS):
        say(f"note: {clean(untold[0])} waits for a worker. Start one: queuectl worker start")


def _follow(
    queue: Queue, id: str, options: argparse.Namespace, *, over: Callable[[], bool] = lambda: False
) -> Job:
    view = LogView()
    write = (lambda _chunk: None) if options.json else view.write
    try:
        return follow(queue, id, write=write, begin=lambda _run, started: view.begin(started), over=over)
    except BrokenPipeError:
        # `queuectl run … | head -1`: nobody reads on, and a command in a pipe would end too.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return _cancel(queue, id)
    finally:
        view.end()


def _cancel(queue: Queue, id: str) -> Job:
    queue.cancel_matching(JobFilter(ids=(id,)))  # unless it has just ended
    queue.wait([id], timeout=queue.settings.kill_grace / 1000 + 2)
    return queue.get(id)


def _run_here(queue: Queue, job: Job, options: argparse.Namespace) -> Job:
    """Be a worker for this one job, while a thread of its own shows the output."""
    from queuectl.assembly import WorkerSpec, build_worker
    from queuectl.cli.workinghere import work_here
    from queuectl.queue import Queue as Another

    def interrupted() -> None:
        # Not by our own connection: an exchange of the worker may be under way on it.
        with Another.open(queue.store.location.url) as other:
            other.cancel_matching(JobFilter(ids=(job.id,)))  # and the viewer sees it end

    over = threading.Event()
    loop = build_worker(queue, WorkerSpec(concurrency=1), only=job.seq, interrupted=interrupted)
    work_here(queue, loop, lambda other: _follow(other, job.id, options, over=over.is_set), over=over)
    return queue.get(job.id)


def _finish(queue: Queue, job: Job, options: argparse.Namespace) -> int:
    if options.json:
        document = run_document(queue, job)
        print_json(document)
        return int(str(document["run_exit_code"]))
    if job.state != states.COMPLETED:
        sys.stdout.flush()
        from queuectl.core.deaths import without_path

        say(f"job {job.id} {job.state}: {clean(without_path(job.last_error or ''))}", as_it_is=True)
    if job.state not in states.TERMINAL:  # somebody has stopped us, as a worker
        say(f"note: it has not ended. See: queuectl explain {job.id}")
    return exit_code(job, queue.attempts(job))
