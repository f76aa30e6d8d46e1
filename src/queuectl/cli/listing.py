"""Jobs as a table, as ids or as JSON, page by page, so that a million of them need no memory."""

from __future__ import annotations

from queuectl.cli.formats import JOB, add_format, print_lines
from queuectl.cli.output import clean, is_terminal, plural, print_json_array, print_table, say
from queuectl.cli.selection import number
from queuectl.core.states import PROCESSING
from queuectl.errors import InvalidInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from queuectl.core.job import Job
    from queuectl.queue import JobFilter, Queue

SORTS = ("created", "updated", "priority", "due", "finished", "id")
SCREENFUL = 50
_PAGE = 1_000
_EVERYTHING = 2**62


def add_paging(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("how many, in which order")
    add = group.add_argument
    add("--sort", choices=SORTS, default="created", help="default: created, the oldest first")
    add("--reverse", action="store_true", help="the other way round")
    add(
        "--limit",
        "-n",
        type=number(1),
        metavar="N",
        help=f"at most N (default: {SCREENFUL} on a terminal, all in a pipe)",
    )
    add("--offset", type=number(0), default=0, metavar="N", help="leave out the first N")
    add("--after", metavar="ID", help="go on after this job, where the last page ended")
    parser.add_argument("--quiet", action="store_true", help="print only the ids")
    add_format(parser, JOB)


def print_jobs(
    queue: Queue,
    filter: JobFilter,
    options: argparse.Namespace,
    *,
    header: Sequence[str],
    row: Callable[[Job], Sequence[str]],
) -> int:
    """Print what the filter finds as the options want it; returns how many there were."""
    by_default = options.limit is None and is_terminal() and not options.json
    found = _Count(_chosen(queue, filter, options, SCREENFUL if by_default else options.limit))
    print_found(found, options, header=header, row=row)
    if by_default and found.total == SCREENFUL:
        _say_more(queue, filter, found, options)
    return found.total


def print_found(
    found: Iterator[Job],
    options: argparse.Namespace,
    *,
    header: Sequence[str],
    row: Callable[[Job], Sequence[str]],
) -> None:
    """As JSON, as ids or as a table."""
    if options.json:
        print_json_array(job.to_dict() for job in found)
    elif options.format is not None:
        print_lines(options.format, (job.to_dict() for job in found))
    elif options.quiet:
        for job in found:
            print(clean(job.id))  # one line each, whoever wrote it
    elif (first := next(found, None)) is not None:
        print_table(header, (row(job) for job in _chain(first, found)), state_column=1, spare=("PRIO",))


def every_job(queue: Queue, filter: JobFilter) -> Iterator[Job]:
    """All jobs of a filter, oldest first; jobs that come meanwhile are found too."""
    return _by_key(queue, filter, limit=None, offset=0, after=None, descending=False)


def progress_of(job: Job) -> str | None:
    """What a running command has said about itself; what an earlier run said does not matter any more."""
    if job.state != PROCESSING or job.progress is None:
        return None
    return f"{job.progress}% {job.progress_text or ''}".rstrip()


def _chosen(queue: Queue, filter: JobFilter, options: argparse.Namespace, limit: int | None) -> Iterator[Job]:
    after = None if options.after is None else queue.get(options.after)
    if options.sort == "created":
        return _by_key(
            queue,
            filter,
            limit=limit,
            offset=options.offset,
            after=after,
            descending=options.reverse,
        )
    if after is not None:
        raise InvalidInput("--after needs the order of creation", "use --offset with --sort")
    # In one query: between two pages jobs would change their places and be missed or seen twice.
    return iter(
        queue.list(
            filter=filter,
            limit=limit or _EVERYTHING,
            offset=options.offset,
            sort=options.sort,
            descending=options.reverse,
        )
    )


def _by_key(
    queue: Queue,
    filter: JobFilter,
    *,
    limit: int | None,
    offset: int,
    after: Job | None,
    descending: bool,
) -> Iterator[Job]:
    left = _EVERYTHING if limit is None else limit
    while left > 0:
        size = min(left, _PAGE)
        page = queue.list(filter=filter, limit=size, after=after, offset=offset, descending=descending)
        yield from page
        if len(page) < size:
            return
        after, offset, left = page[-1], 0, left - size


class _Count:
    """An iterator that knows how many it has given and which was the last."""

    __slots__ = ("_source", "last", "total")

    def __init__(self, source: Iterator[Job]) -> None:
        self._source = source
        self.total = 0
        self.last: Job | None = None

    def __iter__(self) -> _Count:
        return self

    def __next__(self) -> Job:
        self.last = next(self._source)
        self.total += 1
        return self.last


def _chain(first: Job, rest: Iterable[Job]) -> Iterator[Job]:
    yield first
    yield from rest


def _say_more(queue: Queue, filter: JobFilter, found: _Count, options: argparse.Namespace) -> None:
    total = queue.store.count(filter)
    if total <= options.offset + found.total or found.last is None:
        return
    further = (
        f"--after {found.last.id}"
        if options.sort == "created"
        else f"--offset {options.offset + found.total}"
    )
    newest = "; the newest first: --reverse" if options.sort == "created" and not options.reverse else ""
    say(f"{found.total} of {plural(total, 'job')} shown; see more with {further} or --limit N{newest}")
