"""queuectl show: everything about one job, and every attempt at it."""

from __future__ import annotations

from queuectl import system
from queuectl.cli.acting import each_selected
from queuectl.cli.deathreport import print_death
from queuectl.cli.formats import JOB_DOCUMENT, add_format, check_format, print_lines
from queuectl.cli.listing import progress_of
from queuectl.cli.options import look_at_queue, parser
from queuectl.cli.output import pasteable, plural, print_facts, print_json, print_table
from queuectl.cli.selectors import IDS_HELP
from queuectl.core.deaths import without_path
from queuectl.core.durations import format_duration, format_run, plain_number
from queuectl.core.states import BLOCKED, COMPLETED, PROCESSING
from queuectl.core.times import describe_when
from queuectl.documents import job_document
from queuectl.estimating import expectations
from queuectl.graphs import relations
from queuectl.notices import described
from queuectl.postmortem import last_death

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
  queuectl show last
  queuectl show job1 --format '{state}'
  queuectl show 3,5-8 --json
"""

_HEADER = ("ATTEMPT", "STARTED", "TOOK", "OUTCOME", "EXIT", "WORKER", "OUTPUT", "ERROR")


def build_parser() -> Parser:
    result = parser("show", _ABOUT, _EXAMPLES)
    result.add_argument("ids", nargs="+", metavar="ID", help=IDS_HELP)
    add_format(result, JOB_DOCUMENT)
    return result


def main(words: list[str]) -> int:
    options = build_parser().parse_args(words)
    check_format(options)
    with look_at_queue(options) as queue:
        return show_jobs(queue, options, queue.get)


def show_jobs(
    queue: Queue, options: argparse.Namespace, find: Callable[[str], Job], *, among: tuple[str, ...] = ()
) -> int:
    """Print the jobs that the options name; returns the exit code."""
    jobs, code, several = each_selected(queue, options, find, among=among)
    if options.json:
        documents = [job_document(queue, job) for job in jobs]
        print_json(documents if several else documents[0])
        return code
    if options.format is not None:
        print_lines(options.format, (job_document(queue, job) for job in jobs))
        return code
    for number, job in enumerate(jobs):
        if number:
            print()
        _print(queue, job)
    return code


def _print(queue: Queue, job: Job) -> None:
    now = queue.clock.now()
    facts = [
        *_facts(job, now),
        *expectations(queue, job),
        *relations(queue, job),
        *described(queue, job),
    ]
    print_facts(facts, state=job.state)
    attempts = queue.attempts(job)
    rows = [_row(attempt, now) for attempt in attempts]
    if job.state == PROCESSING:
        rows.append(_running_row(job, now))
    if rows:
        print()
        print_table(_HEADER, rows, spare=("OUTPUT", "WORKER"))
    died = None if job.state == COMPLETED else last_death(queue, job, attempts)
    if died is not None:
        print_death(*died)


def _facts(job: Job, now: int) -> list[tuple[str, object]]:
    def when(ms: int | None) -> str | None:
        return None if ms is None else describe_when(ms, now_ms=now)

    return [
        ("Id", job.id),
        ("State", job.state),
        ("Number", job.seq),
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
        ("Held", _held(job)),
        ("Cancelling", "its worker has been asked to stop it" if job.cancel_requested else None),
        ("Exit code", job.exit_code),
        ("Signal", None if job.signal is None else system.signal_name(job.signal)),
        ("Last error", without_path(job.last_error or "")),
    ]


def _held(job: Job) -> str | None:
    if job.state != BLOCKED or not job.held:
        return None
    return pasteable(f"until somebody releases it: queuectl release {job.id}")


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
        "-" if started is None else format_run(ended - started),
        attempt.outcome,
        ending if attempt.signal is None else system.signal_name(attempt.signal),
        attempt.worker_id or "-",
        plural(attempt.output_bytes, "byte"),
        without_path(attempt.error or ""),
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
