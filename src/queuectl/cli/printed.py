"""What one job printed, as `logs` shows it: on the screen, in a pipe, as JSON.

Which jobs those are, and following one, is left to the command.
"""

from __future__ import annotations

from queuectl import system
from queuectl.cli.logview import LogView, last_lines
from queuectl.cli.output import clean, say
from queuectl.core.chunks import STDERR, STDOUT
from queuectl.outputs import chunks_of, gathered, latest_run, lies_elsewhere, was_cleaned

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from queuectl.core.chunks import Chunk
    from queuectl.core.job import Attempt, Job
    from queuectl.queue import Queue


def wanted(options: argparse.Namespace, chunks: Iterator[Chunk]) -> Iterator[Chunk]:
    chosen = (c for c in chunks if c.stream not in (STDOUT, STDERR) or _selects(options, c))
    return chosen if options.tail is None else iter(last_lines(list(chosen), options.tail))


def _selects(options: argparse.Namespace, chunk: Chunk) -> bool:
    return options.only in (None, chunk.stream)


def print_log(queue: Queue, job: Job, options: argparse.Namespace, *, quiet: bool = False) -> None:
    """The attempt that is wanted, as it was printed. `quiet`: that there is nothing is not worth a line."""
    attempts = queue.attempts(job)
    run = options.attempt or latest_run(queue, job, attempts)
    if run is None:
        if not quiet:
            say(f"job {clean(job.id)} has not run yet ({job.state})")
        return
    chunks, attempt = chunks_of(queue, job, attempts, run)
    if attempt is not None and was_cleaned(attempt):
        size = f"{attempt.output_bytes:,} bytes"
        say(f"the output of attempt {run} of job {clean(job.id)} ({size}) was cleaned away (keep-output)")
        return
    view = view_for(options)
    view.begin(job.started_at if attempt is None else attempt.started_at)
    empty = True
    for chunk in wanted(options, chunks):
        empty = False
        view.write(chunk)
    view.end()
    if attempt is not None and lies_elsewhere(queue, attempt):
        _say_where(job, attempt)
    elif empty and options.tail != 0 and not (quiet and _is_there(attempt)):
        _say_nothing(queue, job, attempt, run)


def _is_there(attempt: Attempt | None) -> bool:
    """Whether nothing is all there was, and not a file that cannot be read here."""
    return attempt is None or attempt.log is None


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


def log_document(queue: Queue, job: Job, options: argparse.Namespace) -> dict[str, object]:
    attempts = queue.attempts(job)
    run = options.attempt or latest_run(queue, job, attempts)
    chunks = () if run is None else wanted(options, chunks_of(queue, job, attempts, run)[0])
    output = gathered(run, chunks)
    return {
        "id": job.id,
        "command": job.command,
        "state": job.state,
        "exit_code": job.exit_code,
        "attempt": run,
        "stdout": output.text,
        "stderr": output.stderr.decode("utf-8", "replace"),
    }


def view_for(options: argparse.Namespace) -> LogView:
    return LogView(only=options.only, raw=options.raw, timestamps=options.timestamps)
