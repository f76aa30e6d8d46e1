"""queuectl show: everything about one job, and every attempt at it."""

from __future__ import annotations

from queuectl import system
from queuectl.cli.acting import each
from queuectl.cli.listing import progress_of
from queuectl.cli.options import open_queue, parser
from queuectl.cli.output import clean, paint, plural, print_json, print_table
from queuectl.core.durations import format_duration
from queuectl.core.job import plain_number
from queuectl.core.states import BLOCKED, PROCESSING
from queuectl.core.times import describe_when
from queuectl.documents import job_document
from queuectl.graphs import relations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from queuectl.cli.options import Parser
    from queuectl.core.job import Attempt, Job
    from queuectl.queue import Queue

_ABOUT = "Show everything about jobs, with every attempt: when, where, how long, how it ended and why."

_EXAMPLES = """
  queuectl show job1
  queuectl show job1 job2 --json
"""

_HEADER = ("ATTEMPT", "STARTED", "TOOK", "OUTCOME", "EXIT", "WORKER", "OUTPUT", "ERROR")


def build_parser() -> Parser:
    result = parser("show", _ABOUT, _EXAMPLES)
    result.add_argument("ids", nargs="+", metavar="ID", help="the jobs, by id")
    return result


def main(words: list[str]) -> int:
    options = build_parser().parse_args(words)
    with open_queue(options) as queue:
        return show_jobs(queue, options, queue.get)


def show_jobs(queue: Queue, options: argparse.Namespace, find: Callable[[str], Job]) -> int:
    """Print the jobs that the options name; returns the exit code."""
    jobs, code = each(options.ids, find, as_json=options.json)
    if options.json:
        documents = [job_document(queue, job) for job in jobs]
        print_json(documents if len(set(options.ids)) > 1 else documents[0])
        return code
    for number, job in enumerate(jobs):
        if number:
            print()
        _print(queue, job)
    return code


def _print(queue: Queue, job: Job) -> None:
    now = queue.clock.now()
    facts = [
        (name, value)
        for name, value in [*_facts(job, now), *relations(queue, job)]
        if value not in (None, "")
    ]
    width = max(len(name) for name, _ in facts) + 2
    for name, value in facts:
        text = clean(str(value))
        print(f"{name + ':':<{width}}{paint(text, job.state) if name == 'State' else text}")
    rows = [_row(attempt, now) for attempt in queue.attempts(job)]
    if job.state == PROCESSING:
        rows.append(_running_row(job, now))
    if rows:
        print()
        print_table(_HEADER, rows)


def _facts(job: Job, now: int) -> list[tuple[str, object]]:
    def when(ms: int | None) -> str | None:
        return None if ms is None else describe_when(ms, now_ms=now)

    return [
        ("Id", job.id),
        ("State", job.state),
        ("Command", job.command),
        ("Shell", "no, the words are run as they are" if job.argv else None),
        ("Queue", job.queue),
        ("Priority", job.priority),
        ("Attempts", f"{job.attempts}/{job.max_retries + 1} (max retries {job.max_retries})"),
        ("Starts ever", job.runs if job.runs != job.attempts else None),
        ("Workers lost", job.lost or None),
        ("Backoff", _backoff(job)),
        ("Timeout", job.timeout and format_duration(job.timeout)),
        ("Tags", ", ".join(job.tag_list())),
        ("Environment", ", ".join(job.environment())),
        ("Directory", job.cwd),
        ("Created", when(job.created_at)),
        ("Next run", when(job.next_run_at)),
        ("Started", when(job.started_at)),
        ("Finished", when(job.finished_at)),
        ("Updated", when(job.updated_at)),
        ("Worker", job.worker_id),
        ("Progress", progress_of(job)),
        ("Held", f"until somebody releases it: queuectl release {job.id}" if _is_held(job) else None),
        ("Cancelling", "its worker has been asked to stop it" if job.cancel_requested else None),
        ("Exit code", job.exit_code),
        ("Signal", None if job.signal is None else system.signal_name(job.signal)),
        ("Last error", job.last_error),
    ]


def _is_held(job: Job) -> bool:
    return job.state == BLOCKED and bool(job.held)


def _backoff(job: Job) -> str:
    """Only what the job itself says; the rest is as configured."""
    parts = [
        job.backoff_strategy,
        None if job.backoff_base is None else f"base {plain_number(job.backoff_base)}",
        None if job.retry_delay is None else f"delay {format_duration(job.retry_delay)}",
        None if job.backoff_max is None else f"at most {format_duration(job.backoff_max)}",
    ]
    return ", ".join(part for part in parts if part)


def _row(attempt: Attempt, now: int) -> tuple[str, ...]:
    started, ended = attempt.started_at, attempt.finished_at
    ending = "-" if attempt.exit_code is None else str(attempt.exit_code)
    return (
        str(attempt.run),
        "-" if started is None else _short(started, now),
        "-" if started is None else format_duration(max(ended - started, 0)),
        attempt.outcome,
        ending if attempt.signal is None else system.signal_name(attempt.signal),
        attempt.worker_id or "-",
        plural(attempt.output_bytes, "byte"),
        attempt.error or "",
    )


def _running_row(job: Job, now: int) -> tuple[str, ...]:
    started = job.started_at or now
    began = _short(started, now)
    took = format_duration(max(now - started, 0))
    return str(job.runs), began, took, "running", "-", job.worker_id or "-", "", ""


def _short(ms: int, now: int) -> str:
    """A time without its weekday and zone: rows have to fit on a screen."""
    words = describe_when(ms, now_ms=now).split(" ")
    return f"{words[1]} {words[2]}"
