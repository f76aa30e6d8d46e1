"""Dead jobs by the group they are in: `dlq groups`, and `--group` of the other commands of `dlq`.

Which jobs are alike is left to `triage`, what is done to them to an `Action`.
"""

from __future__ import annotations

from itertools import islice

from queuectl import triage
from queuectl.cli.listing import SCREENFUL, print_found
from queuectl.cli.output import (
    clean,
    confirm,
    is_terminal,
    plural,
    print_json,
    print_json_array,
    print_table,
    say,
)
from queuectl.cli.selection import has_filter
from queuectl.core.durations import format_age
from queuectl.core.states import DEAD
from queuectl.errors import InvalidInput
from queuectl.queue import JobFilter
from queuectl.system import signal_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Sequence

    from queuectl.cli.acting import Action
    from queuectl.core.job import Job
    from queuectl.queue import Queue
    from queuectl.triage import Group

_HEADER = ("GROUP", "JOBS", "ENDED", "LAST", "EXAMPLE", "ERROR", "COMMAND")
_ERROR_WIDTH = 20  # on a terminal, so that the command has room too
_AT_ONCE = 1_000
_FIRST_IDS = 10


def print_groups(queue: Queue, options: argparse.Namespace) -> None:
    found = triage.sort_out(queue, name=options.queue)
    shown = found.groups[: options.limit]
    if options.json:
        print_json([group.to_dict() for group in shown])
    elif shown:
        now = queue.clock.now()
        print_table(_HEADER, (_row(group, now) for group in shown))
    else:
        say("no dead jobs")
        return
    left_out = sum(group.count for group in found.groups[len(shown) :]) + found.others
    if left_out:
        say(f"{plural(left_out, 'more dead job')} in other groups")


def _row(group: Group, now: int) -> tuple[str, ...]:
    error = group.error or "-"
    if is_terminal() and len(error) > _ERROR_WIDTH:
        error = error[: _ERROR_WIDTH - 1] + "…"
    last = f"{format_age(max(now - group.last_at, 0))} ago"
    return group.key, f"{group.count:,}", _ending(group), last, group.example, error, group.command


def _ending(group: Group) -> str:
    if group.signal is not None:
        return signal_name(group.signal)
    return "-" if group.exit_code is None else f"exit {group.exit_code}"


# --- the jobs of one group ----------------------------------------------------------------------------------


def list_group(
    queue: Queue, options: argparse.Namespace, header: Sequence[str], row: Callable[[Job], Sequence[str]]
) -> None:
    """They come in the order in which they died."""
    ids = triage.members(queue, options.group, name=options.queue)
    by_default = options.limit is None and is_terminal() and not options.json
    limit = SCREENFUL if by_default else options.limit
    chosen = ids[options.offset :][:limit]
    print_found(_jobs(queue, chosen), options, header=header, row=row)
    left = len(ids) - options.offset - len(chosen)
    if by_default and left > 0:
        say(f"{len(chosen)} of {plural(len(ids), 'job')} shown; see more with --offset or --limit N")


def act_on_group(queue: Queue, options: argparse.Namespace, action: Action) -> int:
    """Do it to all jobs of a group, some at a time."""
    if options.ids or options.all or has_filter(options, but=("queue",)):
        raise InvalidInput("both a group and other jobs are given", "give one of the two")
    ids = triage.members(queue, options.group, name=options.queue)
    if options.dry_run:
        _say_dry(action, ids, as_json=options.json)
        return 0
    if len(ids) > 1 and not confirm(f"{action.verb} {plural(len(ids), 'job')}?", yes=options.yes):
        say("nothing was changed")
        return 1
    before = [job.to_dict() for job in _jobs(queue, ids)] if options.json and action.vanishes else []
    count = sum(action.many(queue, JobFilter(ids=tuple(some), states=(DEAD,))) for some in _chunks(ids))
    if not options.json:
        print(f"✓ {plural(count, 'job')} {action.done}")
    elif action.vanishes:
        print_json_array(before)
    else:
        print_json_array(job.to_dict() for job in _jobs(queue, ids, states=()))
    return 0


def _say_dry(action: Action, ids: Sequence[str], *, as_json: bool) -> None:
    if as_json:
        print_json({"dry_run": True, "count": len(ids), "ids": list(ids[:_FIRST_IDS])})
        return
    more = ", …" if len(ids) > _FIRST_IDS else ""
    print(f"would {action.verb} {plural(len(ids), 'job')}: {', '.join(map(clean, ids[:_FIRST_IDS]))}{more}")


def _jobs(queue: Queue, ids: Sequence[str], *, states: tuple[str, ...] = (DEAD,)) -> Iterator[Job]:
    """Those that are still there, in this order."""
    for some in _chunks(ids):
        page = queue.list(filter=JobFilter(ids=tuple(some), states=states), limit=len(some))
        found = {job.id: job for job in page}
        yield from (found[id] for id in some if id in found)


def _chunks(ids: Sequence[str]) -> Iterator[list[str]]:
    source = iter(ids)
    while some := list(islice(source, _AT_ONCE)):
        yield some
