"""queuectl logs: what a job printed, and what it prints now."""

from __future__ import annotations

from queuectl import system
from queuectl.cli.logview import LogView, last_lines
from queuectl.cli.options import look_at_queue, parser
from queuectl.cli.output import clean, print_json, say
from queuectl.cli.selection import number
from queuectl.cli.selectors import select_one
from queuectl.core.chunks import STDERR, STDOUT
from queuectl.core.deaths import without_path
from queuectl.core.states import PROCESSING, TERMINAL
from queuectl.errors import InvalidInput, NotFound
from queuectl.outputs import follow, has_output, lies_elsewhere, live_output, stored_output, was_cleaned

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Sequence

    from queuectl.cli.options import Parser
    from queuectl.core.chunks import Chunk
    from queuectl.core.job import Attempt, Job
    from queuectl.queue import Queue

_ABOUT = """Print what a job printed, its stdout to stdout, its stderr to stderr. It is the last
attempt that printed anything, or --attempt N. On a terminal control characters are escaped."""

_EXAMPLES = """
  queuectl logs job1
  queuectl logs last -f
  queuectl logs job1 --attempt 2 --timestamps
  queuectl logs job1 --stderr --tail 20
  queuectl logs job1 > output.bin
"""


def build_parser() -> Parser:
    result = parser("logs", _ABOUT, _EXAMPLES)
    add = result.add_argument
    add("id", metavar="ID", help="the job: its id, its number, or last")
    add("--follow", "-f", action="store_true", help="go on until the job has ended, over retries")
    add("--attempt", type=number(1), metavar="N", help="of this attempt (with -f: from it on)")
    which = result.add_mutually_exclusive_group()
    which.add_argument("--stdout", action="store_const", dest="only", const=STDOUT, help="only it")
    which.add_argument("--stderr", action="store_const", dest="only", const=STDERR, help="only it")
    add("--tail", "-n", type=number(0), metavar="N", help="only the last N lines")
    add("--timestamps", "-T", action="store_true", help="the time before each line")
    add("--raw", action="store_true", help="do not escape control characters on a terminal")
    return result


def main(words: list[str]) -> int:
    options = build_parser().parse_args(words)
    if options.json and options.follow:
        raise InvalidInput("--json and --follow do not go together", "leave one of them out")
    with look_at_queue(options) as queue:
        job = select_one(queue, options.id)
        attempts = queue.attempts(job)
        run = options.attempt or _latest(queue, job, attempts)
        if options.follow:
            _follow(queue, job, options, run or 1)
        elif options.json:
            _print_json(queue, job, attempts, options, run)
        else:
            _print(queue, job, attempts, options, run)
    return 0


def _latest(queue: Queue, job: Job, attempts: Sequence[Attempt]) -> int | None:
    """The attempt that runs, else the last one that has printed something, else the last one."""
    if job.state == PROCESSING:
        return job.runs
    for attempt in reversed(attempts):
        if has_output(queue, job, attempt):
            return attempt.run
    return attempts[-1].run if attempts else None


def _chunks(
    queue: Queue, job: Job, attempts: Sequence[Attempt], run: int
) -> tuple[Iterator[Chunk], Attempt | None]:
    for attempt in attempts:
        if attempt.run == run:
            return stored_output(queue, job, attempt), attempt
    if job.state == PROCESSING and run == job.runs:
        return live_output(queue, job), None
    known = ", ".join(str(attempt.run) for attempt in attempts[-20:])
    raise NotFound(f"job {job.id} has no attempt {run}", f"it has {known}" if known else "it has not run yet")


def _wanted(options: argparse.Namespace, chunks: Iterator[Chunk]) -> Iterator[Chunk]:
    chosen = (c for c in chunks if c.stream not in (STDOUT, STDERR) or _selects(options, c))
    return chosen if options.tail is None else iter(last_lines(list(chosen), options.tail))


def _selects(options: argparse.Namespace, chunk: Chunk) -> bool:
    return options.only in (None, chunk.stream)


def _print(
    queue: Queue,
    job: Job,
    attempts: Sequence[Attempt],
    options: argparse.Namespace,
    run: int | None,
) -> None:
    if run is None:
        say(f"job {clean(job.id)} has not run yet ({job.state})")
        return
    chunks, attempt = _chunks(queue, job, attempts, run)
    if attempt is not None and was_cleaned(attempt):
        size = f"{attempt.output_bytes:,} bytes"
        say(f"the output of attempt {run} of job {clean(job.id)} ({size}) was cleaned away (keep-output)")
        return
    view = _view(options)
    view.begin(job.started_at if attempt is None else attempt.started_at)
    empty = True
    for chunk in _wanted(options, chunks):
        empty = False
        view.write(chunk)
    view.end()
    if attempt is not None and lies_elsewhere(queue, attempt):
        _say_where(job, attempt)
    elif empty and options.tail != 0:
        _say_nothing(queue, job, attempt, run)


def _say_where(job: Job, attempt: Attempt) -> None:
    size = f"{attempt.output_bytes:,} bytes"
    say(
        f"the full log of job {clean(job.id)} ({size}) is on {clean(attempt.host or '')}, "
        f"below logs/ there: {clean(attempt.log or '')}"
    )


def _say_nothing(queue: Queue, job: Job, attempt: Attempt | None, run: int) -> None:
    name = clean(job.id)
    host = _runs_elsewhere(queue, job) if attempt is None else None
    if host is not None:
        say(f"job {name} is running on {clean(host)}; what it prints can be read here when it has ended")
    elif attempt is None:
        say(f"job {name} has printed nothing yet; follow it: queuectl logs -f {name}")
    elif attempt.log:
        place = f"on {clean(attempt.host)}" if attempt.host else "elsewhere"
        say(f"the output of attempt {run} of job {name} is {place}, or was deleted")
    else:
        say(f"attempt {run} of job {name} printed nothing there ({attempt.outcome})")


def _runs_elsewhere(queue: Queue, job: Job) -> str | None:
    """The machine that runs it, if that is another one: its files cannot be read from here."""
    if not queue.store.location.shared:
        return None
    hosts = [worker.host for worker in queue.store.workers() if worker.id == job.worker_id]
    return hosts[0] if hosts and hosts[0] != system.hostname() else None


def _print_json(
    queue: Queue,
    job: Job,
    attempts: Sequence[Attempt],
    options: argparse.Namespace,
    run: int | None,
) -> None:
    streams = {STDOUT: bytearray(), STDERR: bytearray()}
    if run is not None:
        for chunk in _wanted(options, _chunks(queue, job, attempts, run)[0]):
            if chunk.stream in streams:
                streams[chunk.stream] += chunk.data
    print_json(
        {
            "id": job.id,
            "attempt": run,
            "stdout": streams[STDOUT].decode("utf-8", "replace"),
            "stderr": streams[STDERR].decode("utf-8", "replace"),
        }
    )


def _follow(queue: Queue, job: Job, options: argparse.Namespace, first: int) -> None:
    view = _view(options)
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
        for chunk in _wanted(self._options, iter(self._held)):
            self._write(chunk)
        self._held = []


def _view(options: argparse.Namespace) -> LogView:
    return LogView(only=options.only, raw=options.raw, timestamps=options.timestamps)
