"""queuectl logs: what jobs printed, and what one prints now."""

from __future__ import annotations

from queuectl.cli.acting import each_selected, tell
from queuectl.cli.listing import every_job
from queuectl.cli.options import look_at_queue, parser
from queuectl.cli.output import clean, is_terminal, print_json, print_json_array, say
from queuectl.cli.printed import log_document, print_log, view_for, wanted
from queuectl.cli.selection import add_filters, filter_from, has_filter, number
from queuectl.cli.selectors import IDS_HELP, means_all, select_one
from queuectl.core.chunks import STDERR, STDOUT
from queuectl.core.deaths import without_path
from queuectl.core.states import PROCESSING, TERMINAL
from queuectl.errors import InvalidInput, QueuectlError
from queuectl.outputs import follow, latest_run

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable, Iterator

    from queuectl.cli.options import Parser
    from queuectl.core.chunks import Chunk
    from queuectl.core.job import Job
    from queuectl.queue import Queue

_ABOUT = """Print what jobs printed, their stdout to stdout, their stderr to stderr. Of each job it is the
last attempt that printed anything, or --attempt N. Of several jobs it comes in the order in which they were
enqueued, or named; on a terminal each has a heading. There, control characters are escaped."""

_EXAMPLES = """
  queuectl logs job1
  queuectl logs last -f
  queuectl logs job1 --attempt 2 --timestamps
  queuectl logs job1 --stderr --tail 20
  queuectl logs job1 > output.bin
  queuectl logs --tag night --state completed --stdout > results.txt
  queuectl logs --state dead --tail 3
  queuectl logs 3,5-8 --json
"""


def build_parser() -> Parser:
    result = parser("logs", _ABOUT, _EXAMPLES)
    add = result.add_argument
    add("ids", nargs="*", metavar="ID", help=IDS_HELP)
    add("--follow", "-f", action="store_true", help="go on until the job has ended, over retries")
    add("--attempt", type=number(1), metavar="N", help="of this attempt (with -f: from it on)")
    which = result.add_mutually_exclusive_group()
    which.add_argument("--stdout", action="store_const", dest="only", const=STDOUT, help="only it")
    which.add_argument("--stderr", action="store_const", dest="only", const=STDERR, help="only it")
    add("--tail", "-n", type=number(0), metavar="N", help="only the last N lines")
    add("--timestamps", "-T", action="store_true", help="the time before each line")
    add("--raw", action="store_true", help="do not escape control characters on a terminal")
    add_filters(result, age=True)
    return result


def main(words: list[str]) -> int:
    options = build_parser().parse_args(words)
    if options.json and options.follow:
        raise InvalidInput("--json and --follow do not go together", "leave one of them out")
    if options.ids and has_filter(options):
        raise InvalidInput("both ids and a filter are given", "give one of the two")
    if not options.ids and not has_filter(options):
        raise InvalidInput("the logs of which jobs?", "give ids, last, or a filter like --tag night")
    with look_at_queue(options) as queue:
        if options.follow:
            _follow(queue, options)
            return 0
        return _print(queue, options)


def _print(queue: Queue, options: argparse.Namespace) -> int:
    code = 0
    jobs: Iterable[Job]
    if has_filter(options) or means_all(queue, options.ids):
        several = True
        jobs = every_job(queue, filter_from(options, now=queue.clock.now()))
    else:
        jobs, code, several = each_selected(queue, options, queue.get)
    if several:
        return max(code, _print_many(queue, jobs, options))
    for job in jobs:
        if options.json:
            print_json(log_document(queue, job, options))
        else:
            print_log(queue, job, options)
    return code


def _print_many(queue: Queue, jobs: Iterable[Job], options: argparse.Namespace) -> int:
    """One after the other, however many there are. What cannot be shown is told, and the rest goes on."""
    failures: list[QueuectlError] = []

    def shown() -> Iterator[object]:
        for job in jobs:
            try:
                yield _show(queue, job, options)
            except QueuectlError as error:
                failures.append(error)
                tell(error, as_json=options.json)

    if options.json:
        print_json_array(shown())
    elif not sum(1 for _ in shown()) and not failures:
        say("no jobs match")
    return max((error.exit_code for error in failures), default=0)


def _show(queue: Queue, job: Job, options: argparse.Namespace) -> object:
    if options.json:
        return log_document(queue, job, options)
    # In a pipe stdout is the data of all of them, and a line about each of thousands is too much for stderr.
    headed = is_terminal()
    if headed:
        say(f"==> job {clean(job.id)} ({job.state}): {clean(job.command)} <==", as_it_is=True)
    print_log(queue, job, options, quiet=not headed)
    return None


def _follow(queue: Queue, options: argparse.Namespace) -> None:
    if has_filter(options) or len(options.ids) != 1:
        raise InvalidInput("--follow is for one job", "name one, like: queuectl logs -f last")
    job = select_one(queue, options.ids[0])
    first = options.attempt or latest_run(queue, job, queue.attempts(job)) or 1
    view = view_for(options)
    tail = _Tail(view.write, options)

    def begin(run: int, started_at: int | None) -> None:
        tail.release()
        view.begin(started_at)
        say(f"==> job {clean(job.id)}, attempt {run} <==")

    def caught_up(now: Job) -> None:
        tail.release()
        tail.passing = True
        if now.state not in TERMINAL and now.state != PROCESSING:
            _say_waiting(queue, now)

    ended = follow(queue, job.id, write=tail.write, begin=begin, caught_up=caught_up, first=first)
    view.end()
    error = f": {clean(without_path(ended.last_error))}" if ended.last_error else ""
    say(f"==> job {clean(job.id)} is {ended.state}{error} <==", as_it_is=True)


def _say_waiting(queue: Queue, job: Job) -> None:
    from queuectl.app import living_workers

    nobody = "" if living_workers(queue.store) else "; no worker is running: queuectl worker start"
    say(f"==> job {clean(job.id)} is {job.state}, waiting for its start{nobody} <==")


class _Tail:
    """Holds back what was there already, so that only its last lines are shown."""

    __slots__ = ("_held", "_options", "_write", "passing")

    def __init__(self, write: Callable[[Chunk], None], options: argparse.Namespace) -> None:
        self._write = write
        self._options = options
        self._held: list[Chunk] = []
        self.passing = options.tail is None

    def write(self, chunk: Chunk) -> None:
        if self.passing:
            self._write(chunk)
        else:
            self._held.append(chunk)

    def release(self) -> None:
        for chunk in wanted(self._options, iter(self._held)):
            self._write(chunk)
        self._held = []
