"""What `import-pueue` and `import-joblog` have in common: a plan becomes jobs, all or nothing.

Which jobs those are is left to `core.pueue_plan` and `core.joblog`.
"""

from __future__ import annotations

import sys

from queuectl import queues
from queuectl.app import serving_workers
from queuectl.cli.options import open_queue
from queuectl.cli.output import plural, print_json, print_table, say
from queuectl.cli.selection import number
from queuectl.clock import SYSTEM_CLOCK
from queuectl.core.ids import check_id
from queuectl.core.spec import Defaults, job_from_fields
from queuectl.core.takeover import counted
from queuectl.errors import InvalidInput, StoreError
from queuectl.queue import JobFilter

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from queuectl.core.job import Job, NewJob
    from queuectl.core.takeover import Plan
    from queuectl.queue import Queue

_CHUNK = 1_000  # ids in one query


def add_options(parser: argparse.ArgumentParser, prefix: str, thing: str) -> None:
    add = parser.add_argument
    add("file", nargs="?", default="-", metavar="FILE", help="default: stdin, also as -")
    add("--all", action="store_true", help=f"also {thing}s that have succeeded: they run again")
    add("--prefix", default=prefix, metavar="P", help=f"ids begin with it: P-12 (default: {prefix})")
    add("--max-retries", type=number(0), default=0, metavar="N", help="retries of each job (default: 0)")
    add("--dry-run", action="store_true", help="only say what would be imported")


def read_file(path: str) -> bytes:
    if path == "-":
        if sys.stdin is None or sys.stdin.isatty():
            raise InvalidInput("nothing is piped in", "give a file")
        return sys.stdin.buffer.read()
    try:
        with open(path, "rb") as file:
            return file.read()
    except (OSError, ValueError) as error:  # ValueError: a NUL byte in the name
        reason = error.strerror if isinstance(error, OSError) else error
        raise InvalidInput(f"cannot read {path!r}: {reason}", "check the path") from None


def check_prefix(prefix: str) -> str:
    check_id(f"{prefix}-0")
    return prefix


def take_over(plan: Plan, options: argparse.Namespace, cwd: str) -> int:
    """Store what is planned and say so. Ids that exist already are passed over."""
    jobs = _jobs(plan, Defaults(now=SYSTEM_CLOCK.now(), max_retries=options.max_retries, cwd=cwd))
    if options.dry_run:
        _show(plan, jobs, _looked_up(jobs, options), options)
        return 0
    with open_queue(options) as queue:
        known = _known(queue, jobs)
        limits = _store(queue, plan, jobs)
        new = [job for job in jobs if job.id not in known]
        _tell(plan, jobs, new, known, limits, options)
        if new and not serving_workers(queue.store):
            say("note: no worker is running, so jobs will wait. Start one: queuectl worker start")
    return 0


def _jobs(plan: Plan, defaults: Defaults) -> list[NewJob]:
    made = []
    for place, fields in plan.jobs:
        try:
            made.append(job_from_fields(fields, defaults))
        except InvalidInput as error:
            error.message = f"{place}: {error.message}"
            raise
    return made


def _known(queue: Queue, jobs: list[NewJob]) -> dict[str, Job]:
    """Those of them that are in the store already."""
    ids = [str(job.id) for job in jobs]
    known: dict[str, Job] = {}
    for start in range(0, len(ids), _CHUNK):
        wanted = JobFilter(ids=tuple(ids[start : start + _CHUNK]))
        known |= {job.id: job for job in queue.list(filter=wanted, limit=_CHUNK)}
    return known


def _looked_up(jobs: list[NewJob], options: argparse.Namespace) -> dict[str, Job]:
    """The same for a dry run, which makes no store."""
    try:
        with open_queue(options, create=False) as queue:
            return _known(queue, jobs)
    except StoreError:
        return {}


def _store(queue: Queue, plan: Plan, jobs: list[NewJob]) -> dict[str, int]:
    """Limits first, or a worker would start too many at once; they go again if the jobs cannot be stored.

    A limit that somebody has set here already stays.
    """
    limits = {
        name: limit
        for name, limit in plan.limits.items()
        if queues.look(queue, name).rule.concurrency is None
    }
    try:
        for name, limit in limits.items():
            queues.configure(queue, name, concurrency=limit)
        queue.enqueue_jobs(jobs, if_exists="skip")
    except BaseException:
        for name in limits:
            queues.configure(queue, name, concurrency=None)
        raise
    return limits


# --- telling ----------------------------------------------------------------------------------------


def _show(plan: Plan, jobs: list[NewJob], known: dict[str, Job], options: argparse.Namespace) -> None:
    new = [job for job in jobs if job.id not in known]
    if options.json:
        print_json({"dry_run": True, **_document(plan, jobs, new, plan.limits)})
        return
    if new:
        rows = [(str(job.id), job.queue, job.command) for job in new]
        print_table(("ID", "QUEUE", "COMMAND"), rows)
    print(f"would import {plural(len(new), 'job')}")
    _notes(plan, jobs, known)


def _tell(
    plan: Plan,
    jobs: list[NewJob],
    new: list[NewJob],
    known: dict[str, Job],
    limits: dict[str, int],
    options: argparse.Namespace,
) -> None:
    if options.json:
        print_json(_document(plan, jobs, new, limits))
        return
    print(f"✓ {plural(len(new), 'job')} imported")
    for name, limit in limits.items():
        lift = f"queuectl queue set {name} --concurrency none"
        say(f"queue {name} runs {plural(limit, 'job')} at a time, as it did there. Lift that: {lift}")
    _notes(plan, jobs, known)


def _document(plan: Plan, jobs: list[NewJob], new: list[NewJob], limits: dict[str, int]) -> dict[str, object]:
    return {
        "imported": len(new),
        "skipped": len(jobs) - len(new),
        "left_out": sum(plan.left_out.values()),
        "ids": [job.id for job in new],
        "concurrency": limits,
        "notes": plan.notes,
    }


def _notes(plan: Plan, jobs: list[NewJob], known: dict[str, Job]) -> None:
    for note in plan.notes:
        say(f"note: {note}")
    if plan.left_out:
        say(f"left out: {counted(plan.left_out.items())}")
    if not known:
        return
    say(f"{plural(len(known), 'job')} skipped, their ids exist already")
    others = [job.id for job in jobs if job.id in known and known[job.id].command != job.command]
    if others:
        say(
            f"note: {plural(len(others), 'job')} of them with another command, like {others[0]}; see --prefix"
        )
