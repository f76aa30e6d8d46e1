"""What `cancel`, `retry`, `rm` and `dlq` have in common: ids or a filter, asking, telling, JSON.

What is done to a job is left to an `Action` of the command.
"""

from __future__ import annotations

import json
import sys

from queuectl.cli.listing import every_job
from queuectl.cli.output import clean, confirm, plural, print_json, print_json_array, say
from queuectl.cli.selection import add_filters, filter_from, has_filter
from queuectl.core.states import PROCESSING
from queuectl.errors import InvalidInput, QueuectlError
from queuectl.selecting import possible

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence
    from typing import TypeVar

    from queuectl.core.job import Job
    from queuectl.queue import JobFilter, Queue

    T = TypeVar("T")

_FIRST_IDS = 10


class Action:
    """One thing that can be done to jobs: how, from which states, and the words for it."""

    __slots__ = ("done", "example", "held", "many", "one", "settle", "sources", "vanishes", "verb")

    def __init__(
        self,
        verb: str,
        done: str,
        *,
        sources: tuple[str, ...],
        one: Callable[[Queue, str], Job],
        many: Callable[[Queue, JobFilter], int],
        settle: Callable[[Queue, Sequence[Job]], list[Job | QueuectlError]] | None = None,
        vanishes: bool = False,
        held: bool | None = None,
        example: str = "--queue mail",
    ) -> None:
        self.verb = verb  # "cancel", for questions
        self.done = done  # "cancelled", for answers
        self.sources = sources
        self.one = one
        self.many = many
        self.settle = settle or _as_they_are  # waits for what goes on in the background
        self.vanishes = vanishes  # the jobs are gone afterwards
        self.held = held  # True: only for held jobs, False: only for others
        self.example = example  # of a filter

    def fits(self, job: Job) -> bool:
        return job.state in self.sources and self.held in (None, bool(job.held))


def _as_they_are(_queue: Queue, jobs: Sequence[Job]) -> list[Job | QueuectlError]:
    return list(jobs)


def add_targets(parser: argparse.ArgumentParser, *, state: bool = True) -> None:
    """The options of a command that acts on jobs."""
    parser.add_argument("ids", nargs="*", metavar="ID", help="the jobs, by id")
    add_filters(parser, state=state)
    parser.add_argument("--all", action="store_true", help="all jobs for which it is possible")
    parser.add_argument("--yes", "-y", action="store_true", help="do not ask")
    parser.add_argument("--dry-run", action="store_true", help="only say what would be done")


def act(queue: Queue, options: argparse.Namespace, action: Action) -> int:
    """Carry an action out on the ids or the filter of the options; returns the exit code."""
    filtered = options.all or has_filter(options)
    if options.ids and filtered:
        raise InvalidInput("both ids and a filter are given", "give one of the two")
    if not options.ids and not filtered:
        raise InvalidInput(
            f"which jobs to {action.verb}?", f"give ids, a filter like {action.example}, or --all"
        )
    if options.ids:
        return _on_ids(queue, options, action)
    return _on_filter(queue, options, action)


def each(ids: Sequence[str], do: Callable[[str], T], *, as_json: bool) -> tuple[list[T], int]:
    """Do something for every id. One that fails is told and does not stop the others."""
    ids = list(dict.fromkeys(ids))
    if len(ids) == 1:
        return [do(ids[0])], 0
    done, worst = [], 0
    for id in ids:
        try:
            done.append(do(id))
        except QueuectlError as error:
            tell(error, as_json=as_json)
            worst = max(worst, error.exit_code)
    return done, worst


def tell(error: QueuectlError, *, as_json: bool) -> None:
    """One error among several, on stderr."""
    if as_json:
        body = {"code": error.code, "message": error.message, "hint": error.hint}
        sys.stderr.write(json.dumps({"error": body}) + "\n")
        return
    hint = f" ({error.hint})" if error.hint else ""
    say(f"error: {clean(error.message + hint)}")


def _on_ids(queue: Queue, options: argparse.Namespace, action: Action) -> int:
    single = len(set(options.ids)) == 1
    if options.dry_run:
        jobs, worst = each(options.ids, queue.get, as_json=options.json)
        possible = [job for job in jobs if action.fits(job)]
        _say_dry(action, len(possible), [job.id for job in possible], as_json=options.json)
        return worst
    jobs, worst = each(options.ids, lambda id: action.one(queue, id), as_json=options.json)
    settled, failed = _sort_out(action.settle(queue, jobs), single=single, as_json=options.json)
    if not options.json:
        for job in settled:
            # One that could be stopped while it runs and still does has been asked to; its worker will do it.
            asked = job.state == PROCESSING and PROCESSING in action.sources
            done = "is being stopped" if asked else action.done
            print(f"✓ Job {clean(job.id)} {done}")
    elif single:
        print_json(settled[0].to_dict())
    else:
        print_json_array(job.to_dict() for job in settled)
    return max(worst, failed)


def _sort_out(
    results: Sequence[Job | QueuectlError], *, single: bool, as_json: bool
) -> tuple[list[Job], int]:
    jobs, worst = [], 0
    for result in results:
        if not isinstance(result, QueuectlError):
            jobs.append(result)
            continue
        if single:
            raise result
        tell(result, as_json=as_json)
        worst = max(worst, result.exit_code)
    return jobs, worst


def _on_filter(queue: Queue, options: argparse.Namespace, action: Action) -> int:
    wanted = possible(
        filter_from(options, now=queue.clock.now()), action.verb, action.sources, held=action.held
    )
    count = queue.store.count(wanted)
    if options.dry_run:
        first = [job.id for job in queue.list(filter=wanted, limit=_FIRST_IDS)]
        _say_dry(action, count, first, as_json=options.json)
        return 0
    if not count:
        say(f"no job to {action.verb}")
        if options.json:
            print_json([])
        return 0
    if count > 1 and not confirm(f"{action.verb} {plural(count, 'job')}?", yes=options.yes):
        say("nothing was changed")
        return 1
    return _carry_out(queue, wanted, options, action)


def _carry_out(queue: Queue, wanted: JobFilter, options: argparse.Namespace, action: Action) -> int:
    # Only JSON needs to know every job; a count is enough for people, however many there are.
    before = list(every_job(queue, wanted)) if options.json else []
    going = []
    if PROCESSING in wanted.states:
        going = list(every_job(queue, wanted.replaced(states=(PROCESSING,))))
    count = action.many(queue, wanted)
    stopped, worst = _sort_out(action.settle(queue, going), single=False, as_json=options.json)
    if options.json:
        print_json_array(_afterwards(queue, job, action).to_dict() for job in before)
    else:
        print(f"✓ {plural(count - len(going) + len(stopped), 'job')} {action.done}")
    return worst


def _afterwards(queue: Queue, job: Job, action: Action) -> Job:
    return job if action.vanishes else queue.store.get(job.id) or job


def _say_dry(action: Action, count: int, first: list[str], *, as_json: bool) -> None:
    if as_json:
        print_json({"dry_run": True, "count": count, "ids": first})
        return
    more = ", …" if count > len(first) else ""
    names = ": " + ", ".join(map(clean, first)) + more if first else ""
    print(f"would {action.verb} {plural(count, 'job')}{names}")
