"""What `map` says when its jobs are stored, and once they have ended: for people, as ids, as JSON."""

from __future__ import annotations

import json
import sys
from itertools import islice

from queuectl.app import serving_workers
from queuectl.cli.listing import every_job
from queuectl.cli.mapping import tag_of
from queuectl.cli.mapwatch import Watch, watch_as_worker
from queuectl.cli.output import can_redraw, clean, plural, say
from queuectl.core import states
from queuectl.core.deaths import without_path
from queuectl.core.job import DEFAULT_QUEUE
from queuectl.errors import StoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from queuectl.core.job import Job
    from queuectl.queue import JobFilter, Queue

_INTERRUPTED = 130
_FIRST_BAD = 5
_MOST_IDS = 10_000


class Stored:
    """What became of the inputs of a map."""

    __slots__ = ("jobs", "name", "new", "read", "retried", "total")

    def __init__(self, name: str, jobs: JobFilter, *, read: int, new: int, retried: int, total: int) -> None:
        self.name = name
        self.jobs = jobs
        self.read = read  # inputs
        self.new = new
        self.retried = retried
        self.total = total  # jobs of the map, also of earlier times

    def to_dict(self) -> dict[str, object]:
        return {
            "name": self.name,
            "tag": tag_of(self.name),
            "inputs": self.read,
            "new": self.new,
            "retried": self.retried,
            "count": self.total,
        }


def finish(queue: Queue, stored: Stored, options: argparse.Namespace) -> int:
    """Say what was stored, wait if that is wanted, say how it went; returns the exit code."""
    if not stored.read:
        say("note: there is no input")
    if options.quiet:
        sys.stdout.writelines(f"{clean(job.id)}\n" for job in every_job(queue, stored.jobs))
    elif not options.json:
        # What jobs print is data then, and this is not.
        (say if options.printing else print)(_summary(stored, options))
    if options.wait:
        return _wait(queue, stored, options)
    if options.json:
        ids = [job.id for job in islice(every_job(queue, stored.jobs), _MOST_IDS)]
        print(json.dumps({**stored.to_dict(), "ids": ids}))
    if stored.total:
        _note_without_workers(queue, options, "add --wait, or start one")
    return 0


def _summary(stored: Stored, options: argparse.Namespace) -> str:
    if options.resume:
        left = max(stored.read - stored.new - stored.retried, 0)
        rest = f"{stored.retried:,} retried, {left:,} left as they are"
        return f"✓ {plural(stored.new, 'job')} added, {rest}: map {stored.name}"
    twice = stored.read - stored.new
    more = f" ({plural(twice, 'input')} given more than once)" if twice else ""
    return f"✓ {plural(stored.new, 'job')} enqueued{more}: map {stored.name}"


def _note_without_workers(queue: Queue, options: argparse.Namespace, remedy: str) -> None:
    name = options.queue or DEFAULT_QUEUE
    try:
        if serving_workers(queue.store, name):
            return
    except StoreError:
        return  # the jobs are stored; whoever cannot be asked now has no say in that
    option = "" if name == DEFAULT_QUEUE else f" --queue {name}"
    say(f"note: no worker serves queue {name}, so jobs will wait; {remedy}: queuectl worker start{option}")


def _wait(queue: Queue, stored: Stored, options: argparse.Namespace) -> int:
    bar = None
    if can_redraw(sys.stderr) and not options.quiet:
        from queuectl.cli.progress import Bar

        bar = Bar()
    printing = options.printing and not options.json
    watch = Watch(stored.jobs, stored.total, rule=options.halt, bar=bar, printing=printing)
    try:
        _watch(queue, watch, options)
    except KeyboardInterrupt:
        sys.stdout.flush()
        tag = tag_of(stored.name)
        say(f"\nno longer waiting; the jobs stay: queuectl wait --tag {tag}, queuectl cancel --tag {tag}")
        return _INTERRUPTED
    counts = {state: queue.store.count(stored.jobs.replaced(states=(state,))) for state in states.ALL}
    good = watch.is_satisfied(counts)
    if options.json:
        _print_results(queue, stored, counts, watch, options)
    elif not good or counts[states.COMPLETED] < stored.total:
        _say_bad(queue, stored, counts)
    elif not (options.printing or options.quiet):
        print(f"✓ {plural(counts[states.COMPLETED], 'job')} completed")
    return 0 if good else 1


def _watch(queue: Queue, watch: Watch, options: argparse.Namespace) -> None:
    name = options.queue or DEFAULT_QUEUE
    if not watch.total or serving_workers(queue.store, name):
        watch.run(queue)
    elif options.needs:
        _note_without_workers(queue, options, "start one that provides what they need")
        watch.run(queue)
    else:
        say(f"note: no worker serves queue {name}; running the jobs here")
        watch_as_worker(queue, watch, queue_name=name, jobs=options.jobs)


def _say_bad(queue: Queue, stored: Stored, counts: dict[str, int]) -> None:
    parts = [f"{counts[state]:,} {state}" for state in states.TERMINAL if counts[state]]
    gone = max(stored.total - sum(counts.values()), 0)
    parts += [f"{gone:,} deleted meanwhile"] if gone else []
    left = sum(counts[state] for state in states.ALL if state not in states.TERMINAL)
    sys.stdout.flush()
    if left:  # somebody has stopped us, as a worker
        tag = tag_of(stored.name)
        say(f"no longer waiting, as the worker here was stopped; the jobs stay: queuectl wait --tag {tag}")
        parts.append(f"{left:,} not ended")
    say(", ".join(parts))
    for job in queue.list(filter=stored.jobs.replaced(states=(states.DEAD,)), limit=_FIRST_BAD):
        reason = clean(without_path(job.last_error or "no reason given"))
        say(f"  {clean(job.id)} is {job.state}: {reason}: {clean(job.command)}", as_it_is=True)
    if counts[states.DEAD] > _FIRST_BAD:
        say(f"  …; see all: queuectl list --state dead --tag {tag_of(stored.name)}")


def _print_results(
    queue: Queue, stored: Stored, counts: dict[str, int], watch: Watch, options: argparse.Namespace
) -> None:
    """One document, but its results are written one by one: there may be a million."""
    head = json.dumps({**stored.to_dict(), "jobs": counts, "halted": watch.halted})
    sys.stdout.write(head[:-1] + ', "results": [')
    separator = "\n"
    for job in every_job(queue, stored.jobs):
        sys.stdout.write(separator + json.dumps(_result(queue, job, output=options.printing)))
        separator = ",\n"
    sys.stdout.write("\n]}\n")


def _result(queue: Queue, job: Job, *, output: bool) -> dict[str, object]:
    shown = job.to_dict()
    result = {name: shown[name] for name in ("id", "command", "state", "exit_code", "signal", "last_error")}
    if output:
        result["stdout"] = _stdout(queue, job)
    return result


def _stdout(queue: Queue, job: Job) -> str:
    from queuectl.core.chunks import STDOUT
    from queuectl.outputs import stored_output

    attempts = queue.attempts(job)
    chunks: Iterable[bytes] = ()
    if attempts:
        chunks = (c.data for c in stored_output(queue, job, attempts[-1]) if c.stream == STDOUT)
    return b"".join(chunks).decode("utf-8", "replace")
