"""What `cancel`, `retry`, `rm` and `dlq` have in common: ids or a filter, asking, telling, JSON.

What is done to a job is left to an `Action` of the command, which words mean which jobs to `selectors`.
"""

from __future__ import annotations

import json
import sys

from queuectl.cli.listing import every_job
from queuectl.cli.output import clean, confirm, pasteable, plural, print_json, print_json_array, say
from queuectl.cli.selection import add_filters, filter_from, has_filter
from queuectl.cli.selectors import IDS_HELP, means_all, select, tell_guesses
from queuectl.core.states import PROCESSING
from queuectl.errors import InvalidInput, QueuectlError
from queuectl.queue import JobFilter
from queuectl.selecting import possible

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence
    from typing import TypeVar

    from queuectl.cli.selectors import Selected
    from queuectl.core.job import Job
    from queuectl.queue import Queue

    T = TypeVar("T")

_FIRST_IDS = 10
_MOST_IDS = 5_000  # in one statement


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
    parser.add_argument("ids", nargs="*", metavar="ID", help=IDS_HELP)
    add_filters(parser, state=state)
    parser.add_argument("--all", action="store_true", help="all jobs for which it is possible")
    parser.add_argument("--yes", "-y", action="store_true", help="do not ask")
    parser.add_argument("--dry-run", action="store_true", help="only say what would be done")


def act(queue: Queue, options: argparse.Namespace, action: Action, *, among: tuple[str, ...] = ()) -> int:
    """Carry an action out on the ids or the filter of the options; returns the exit code.

    `among`: the states of the jobs that words like `last` can mean.
    """
    filtered = options.all or has_filter(options)
    if options.ids and filtered:
        raise InvalidInput("both ids and a filter are given", "give one of the two")
    if not options.ids and not filtered:
        raise InvalidInput(
            f"which jobs to {action.verb}?", f"give ids, a filter like {action.example}, or --all"
        )
    if not options.ids or means_all(queue, options.ids):
        return _on_filters(queue, [filter_from(options, now=queue.clock.now())], options, action)
    chosen = select(queue, options.ids, among=among)
    for error in chosen.errors:
        tell(error, as_json=options.json)
    worst = max((error.exit_code for error in chosen.errors), default=0)
    if chosen.sweeping:
        return max(worst, _on_many(queue, chosen.ids, options, action))
    return max(worst, _on_ids(queue, chosen, options, action))


def each_selected(
    queue: Queue, options: argparse.Namespace, do: Callable[[str], T], *, among: tuple[str, ...] = ()
) -> tuple[list[T], int, bool]:
    """For commands that look: what comes of every job that is meant, the exit code, and whether there may be
    more than one.
    """
    chosen = select(queue, options.ids, among=among)
    tell_guesses(chosen)
    for error in chosen.errors:
        tell(error, as_json=options.json)
    done, worst = each(chosen.ids, do, as_json=options.json)
    return done, max([worst, *(error.exit_code for error in chosen.errors)]), chosen.several


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
    hint = error.hint and pasteable(error.hint)
    if as_json:
        body = {"code": error.code, "message": error.message, "hint": hint}
        sys.stderr.write(json.dumps({"error": body}) + "\n")
        return
    say(f"error: {clean(error.message + (f' ({hint})' if hint else ''))}", as_it_is=True)


def _on_ids(queue: Queue, chosen: Selected, options: argparse.Namespace, action: Action) -> int:
    if not chosen.ids and not chosen.errors:
        say(f"no job to {action.verb}: no ids came on stdin")
    single = len(chosen.ids) == 1 and not chosen.errors
    if options.dry_run:
        jobs, worst = each(chosen.ids, queue.get, as_json=options.json)
        possible = [job for job in jobs if action.fits(job)]
        _say_dry(action, len(possible), [job.id for job in possible], as_json=options.json)
        return worst
    for word, id in chosen.guessed.items():
        if not confirm(f"{word} is taken for {id}: {action.verb} it?", yes=options.yes):
            say("nothing was changed")
            return 1
    jobs, worst = each(chosen.ids, lambda id: action.one(queue, id), as_json=options.json)
    settled, failed = _sort_out(action.settle(queue, jobs), single=single, as_json=options.json)
    if not options.json:
        for job in settled:
            # One that could be stopped while it runs and still does has been asked to; its worker will do it.
            asked = job.state == PROCESSING and PROCESSING in action.sources
            done = "is being stopped" if asked else action.done
            print(f"✓ Job {clean(job.id)} {done}")
    elif not chosen.several:
        print_json(settled[0].to_dict())
    else:
        print_json_array(job.to_dict() for job in settled)
    return max(worst, failed)


def _on_many(queue: Queue, ids: Sequence[str], options: argparse.Namespace, action: Action) -> int:
    """The jobs of a range: as with a filter, those that it is possible for."""
    groups = [ids[start : start + _MOST_IDS] for start in range(0, len(ids), _MOST_IDS)]
    filters = [JobFilter(ids=tuple(group)) for group in groups]
    fitting = sum(queue.store.count(_narrowed(filter, action)) for filter in filters)
    if fitting < len(ids):
        say(f"{plural(len(ids) - fitting, 'job')} skipped, whose state does not allow it")
    return _on_filters(queue, filters, options, action)


def _narrowed(filter: JobFilter, action: Action) -> JobFilter:
    return possible(filter, action.verb, action.sources, held=action.held)


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


def _on_filters(
    queue: Queue, filters: Sequence[JobFilter], options: argparse.Namespace, action: Action
) -> int:
    wanted = [_narrowed(filter, action) for filter in filters]
    count = sum(queue.store.count(filter) for filter in wanted)
    if options.dry_run:
        first = [job.id for filter in wanted[:1] for job in queue.list(filter=filter, limit=_FIRST_IDS)]
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


def _carry_out(queue: Queue, wanted: Sequence[JobFilter], options: argparse.Namespace, action: Action) -> int:
    # Only JSON needs to know every job; a count is enough for people, however many there are.
    before = [job for filter in wanted for job in every_job(queue, filter)] if options.json else []
    going = [
        job
        for filter in wanted
        if PROCESSING in filter.states
        for job in every_job(queue, filter.replaced(states=(PROCESSING,)))
    ]
    count = sum(action.many(queue, filter) for filter in wanted)
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
