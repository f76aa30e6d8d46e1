"""queuectl wait: until jobs have ended; the exit code says how."""

from __future__ import annotations

import sys

from queuectl.app import serving_workers
from queuectl.cli.formats import JOB, add_format, check_format, print_lines
from queuectl.cli.listing import every_job
from queuectl.cli.options import look_at_queue, parser
from queuectl.cli.output import can_redraw, clean, plural, print_json, say
from queuectl.cli.selection import add_filters, filter_from, has_filter
from queuectl.cli.selectors import IDS_HELP, means_all, select, tell_guesses
from queuectl.cli.waitnotes import note_nothing, note_paused
from queuectl.core import states
from queuectl.core.deaths import without_path
from queuectl.core.notices import QUEUE as NOTIFICATIONS
from queuectl.errors import InvalidInput
from queuectl.queue import JobFilter

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from queuectl.cli.options import Parser
    from queuectl.queue import Queue

_ABOUT = """Wait until jobs have ended. The exit code is 0 only if all of them are completed, 1 if
one is dead or cancelled, 124 if the time was up. A filter means jobs that have ended, too; if it means
none, that is a success, with a note if nobody knows the queue or the tag.
Notifications are not waited for, unless by id or with --queue notifications."""

_EXAMPLES = """
  queuectl wait job1 job2
  queuectl wait --tag nightly --timeout 2h
  queuectl wait --all && echo everything worked
  queuectl wait --tag nightly --format '{id} {state} {exit_code}'
"""

TIMED_OUT = 124
_UNFINISHED = tuple(state for state in states.ALL if state not in states.TERMINAL)
_FIRST_BAD = 5
_MOST_IDS = 5_000  # in one query; SQLite takes no more than 32,766 values


def build_parser() -> Parser:
    result = parser("wait", _ABOUT, _EXAMPLES)
    result.add_argument("ids", nargs="*", metavar="ID", help=IDS_HELP)
    add_filters(result, state=False)
    result.add_argument("--all", action="store_true", help="everything in the store")
    result.add_argument("--timeout", metavar="TIME", help="at most so long: 90s, 10m")
    add_format(result, JOB)
    return result


def main(words: list[str]) -> int:
    options = build_parser().parse_args(words)
    check_format(options)
    with look_at_queue(options) as queue:
        filters, total = _meant(queue, options)
        if not total:
            note_nothing(queue, options)
        elif any(queue.store.unfinished(group) for group in filters):
            if not serving_workers(queue.store):
                say("note: no worker is running, so this will wait. Start one: queuectl worker start")
            note_paused(queue, filters)
        in_time = _wait(queue, filters, _seconds(options))
        return _result(queue, filters, options, total=total, in_time=in_time)


def _meant(queue: Queue, options: argparse.Namespace) -> tuple[list[JobFilter], int]:
    """The jobs to wait for, as filters that a query can take, and how many they are."""
    filtered = options.all or has_filter(options)
    if options.ids and filtered:
        raise InvalidInput("both ids and a filter are given", "give one of the two")
    if not options.ids and not filtered:
        raise InvalidInput("which jobs to wait for?", "give ids, --queue Q, --tag T or --all")
    if not options.ids or means_all(queue, options.ids):
        wanted = filter_from(options, now=queue.clock.now())
        if wanted.queue is None:
            wanted = wanted.replaced(without=NOTIFICATIONS)
        return [wanted], queue.store.count(wanted)
    chosen = select(queue, options.ids)
    tell_guesses(chosen)
    if chosen.errors:
        raise chosen.errors[0]
    ids = chosen.ids
    groups = [ids[start : start + _MOST_IDS] for start in range(0, len(ids), _MOST_IDS)]
    return [JobFilter(ids=tuple(group)) for group in groups], len(ids)


def _seconds(options: argparse.Namespace) -> float | None:
    from queuectl.core.durations import parse_duration

    if options.timeout is None:
        return None
    return parse_duration(options.timeout, what="--timeout") / 1000


def _wait(queue: Queue, filters: list[JobFilter], timeout: float | None) -> bool:
    """Group after group: the last to end decides, whichever group it is in."""
    progress = _progress_line() if can_redraw(sys.stderr) else None
    deadline = None if timeout is None else queue.clock.monotonic() + timeout
    try:
        for group in filters:
            left = None if deadline is None else max(deadline - queue.clock.monotonic(), 0.0)
            # Named states let the store use its indexes instead of walking over what has ended.
            for unfinished in queue.watch(group.replaced(states=_UNFINISHED), timeout=left):
                if progress is not None:
                    progress(unfinished)
            if unfinished and queue.store.unfinished(group.replaced(states=_UNFINISHED)):
                return False
    finally:
        if progress is not None:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
    return True


def _progress_line() -> Callable[[int], None]:
    shown = None

    def progress(left: int) -> None:
        nonlocal shown
        if left and left != shown:
            shown = left
            sys.stderr.write(f"\rwaiting for {plural(left, 'job')}\x1b[K")
            sys.stderr.flush()

    return progress


def _result(
    queue: Queue, filters: list[JobFilter], options: argparse.Namespace, *, total: int, in_time: bool
) -> int:
    counts = {
        state: sum(queue.store.count(group.replaced(states=(state,))) for group in filters)
        for state in states.ALL
    }
    # Jobs that came meanwhile count as well; those that were deleted have an end that nobody knows.
    gone = max(total - sum(counts.values()), 0)
    if options.json:
        print_json({"jobs": counts, "deleted": gone, "timed_out": not in_time})
    elif options.format is not None:
        for group in filters:
            print_lines(options.format, (job.to_dict() for job in every_job(queue, group)))
    bad = [state for state in (states.DEAD, states.CANCELLED) if counts[state]]
    if not in_time:
        left = sum(counts[state] for state in _UNFINISHED)
        say(f"the time was up: {plural(left, 'job')} not ended yet")
        return TIMED_OUT
    if bad or gone:
        _say_bad(queue, filters, counts, gone)
        return 1
    if not options.json and options.format is None:
        print(f"✓ {plural(counts[states.COMPLETED], 'job')} completed")
    return 0


def _say_bad(queue: Queue, filters: list[JobFilter], counts: dict[str, int], gone: int) -> None:
    parts = [f"{counts[state]:,} {state}" for state in states.TERMINAL if counts[state]]
    say(", ".join(parts + ([f"{gone:,} deleted meanwhile"] if gone else [])))
    bad = filters[0].replaced(states=(states.DEAD, states.CANCELLED))
    for job in queue.list(filter=bad, limit=_FIRST_BAD, descending=True):
        error = clean(without_path(job.last_error or "no reason given"))
        say(f"  {clean(job.id)} is {job.state}: {error}", as_it_is=True)
    more = counts[states.DEAD] + counts[states.CANCELLED] - _FIRST_BAD
    if more > 0:
        say(f"  and {more:,} more: queuectl list --state dead,cancelled{_as_options(filters[0])}")


def _as_options(filter: JobFilter) -> str:
    """The filter, for a command to be pasted; ids are too many for that."""
    from shlex import quote

    given = (("queue", filter.queue), ("tag", filter.tag), ("search", filter.text))
    return "".join(f" --{name} {quote(clean(value))}" for name, value in given if value is not None)
