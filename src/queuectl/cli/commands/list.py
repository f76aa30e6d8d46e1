"""queuectl list: jobs in a table, with filters."""

from __future__ import annotations

from queuectl.cli.formats import check_format
from queuectl.cli.listing import add_paging, print_jobs, progress_of
from queuectl.cli.options import look_at_queue, parser
from queuectl.cli.output import say
from queuectl.cli.selection import add_filters, filter_from, has_filter
from queuectl.core.durations import format_age
from queuectl.core.states import PROCESSING, parse_state
from queuectl.editing import progressing

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from queuectl.cli.options import Parser
    from queuectl.core.job import Job
    from queuectl.queue import JobFilter, Queue

_ABOUT = "List jobs, the oldest first. The states are pending, scheduled, blocked, processing,\n"
_ABOUT += "failed (waits for its retry), completed, dead (in the dead letter queue) and cancelled."

_EXAMPLES = """
  queuectl list
  queuectl list --state pending
  queuectl list --state dead,failed --since 1h
  queuectl list --queue mail --search report --reverse --limit 20
  queuectl list --state dead --quiet | xargs queuectl retry
  queuectl list --format '{id}\\t{attempts}\\t{last_error}'
  queuectl list --json | jq -r '.[] | select(.attempts > 1) | .id'
"""

_HEADER = ("ID", "STATE", "NO", "QUEUE", "PRIO", "ATTEMPTS", "AGE", "COMMAND")
_LONG_HEADER = (*_HEADER[:-1], "PROGRESS", "COMMAND")  # if any job has told how far it is


def build_parser() -> Parser:
    result = parser("list", _ABOUT, _EXAMPLES)
    add_filters(result, age=True)
    add_paging(result)
    result.stray = _stray
    return result


def _stray(word: str) -> str | None:
    """`list dead`, `list mail`."""
    if word.startswith("-"):
        return None
    return f"--state {word}" if parse_state(word) else f"--search {word}"


def main(words: list[str]) -> int:
    options = build_parser().parse_args(words)
    check_format(options)
    with look_at_queue(options) as queue:
        now = queue.clock.now()
        chosen = filter_from(options, now=now)
        long = _any_progress(queue, chosen, options)
        header = _LONG_HEADER if long else _HEADER
        if not print_jobs(queue, chosen, options, header=header, row=_row_at(now, progress=long)):
            say("no jobs match" if has_filter(options) else "no jobs")
    return 0


def _any_progress(queue: Queue, chosen: JobFilter, options: argparse.Namespace) -> bool:
    if options.json or options.quiet or options.format or (chosen.states and PROCESSING not in chosen.states):
        return False
    return bool(progressing(queue, chosen, limit=1))


def _row_at(now: int, *, progress: bool) -> Callable[[Job], tuple[str, ...]]:
    def row(job: Job) -> tuple[str, ...]:
        return (
            job.id,
            job.state,
            str(job.seq),
            job.queue,
            str(job.priority),
            f"{job.attempts}/{job.max_retries + 1}",
            format_age(now - job.created_at),
            *([progress_of(job) or ""] if progress else []),
            job.command,
        )

    return row
