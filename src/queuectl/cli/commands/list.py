"""queuectl list: jobs in a table, with filters."""

from __future__ import annotations

from queuectl.cli.listing import add_paging, print_jobs
from queuectl.cli.options import open_queue, parser
from queuectl.cli.output import say
from queuectl.cli.selection import add_filters, filter_from, has_filter
from queuectl.core.durations import format_age

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from queuectl.cli.options import Parser
    from queuectl.core.job import Job

_ABOUT = "List jobs, the oldest first. The states are pending, scheduled, blocked, processing,\n"
_ABOUT += "failed (waits for its retry), completed, dead (in the dead letter queue) and cancelled."

_EXAMPLES = """
  queuectl list
  queuectl list --state pending
  queuectl list --state dead,failed --since 1h
  queuectl list --queue mail --search report --reverse --limit 20
  queuectl list --state dead --quiet | xargs queuectl retry
  queuectl list --json | jq -r '.[] | select(.attempts > 1) | .id'
"""

_HEADER = ("ID", "STATE", "QUEUE", "PRIO", "ATTEMPTS", "AGE", "COMMAND")


def build_parser() -> Parser:
    result = parser("list", _ABOUT, _EXAMPLES)
    add_filters(result, age=True)
    add_paging(result)
    return result


def main(words: list[str]) -> int:
    options = build_parser().parse_args(words)
    with open_queue(options) as queue:
        now = queue.clock.now()
        chosen = filter_from(options, now=now)
        if not print_jobs(queue, chosen, options, header=_HEADER, row=_row_at(now)):
            say("no jobs match" if has_filter(options) else "no jobs")
    return 0


def _row_at(now: int) -> Callable[[Job], tuple[str, ...]]:
    def row(job: Job) -> tuple[str, ...]:
        return (
            job.id,
            job.state,
            job.queue,
            str(job.priority),
            f"{job.attempts}/{job.max_retries + 1}",
            format_age(now - job.created_at),
            job.command,
        )

    return row
