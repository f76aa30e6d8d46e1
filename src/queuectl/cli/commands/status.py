"""queuectl status: the overview of workers, jobs and how fast it goes."""

from __future__ import annotations

import sys

from queuectl.cli.crashes import tell_of_crashes
from queuectl.cli.formats import STATUS, add_format, check_format
from queuectl.cli.listing import progress_of
from queuectl.cli.options import look_at_queue, open_queue, parser
from queuectl.cli.output import can_redraw, clean, print_json, say
from queuectl.core.durations import format_age, parse_duration, plain_number
from queuectl.core.estimates import roughly
from queuectl.errors import InvalidInput
from queuectl.overview import Overview

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from queuectl.cli.formats import Template
    from queuectl.cli.options import Parser
    from queuectl.queue import Queue

_ABOUT = "Show the active workers, the jobs by state, and how fast they are worked off."

_EXAMPLES = """
  queuectl status
  queuectl status --queue mail
  queuectl status --watch
  queuectl status --format '{pending} wait, {dead} are dead'
  queuectl status --json
"""

# The order and the words that scripts look for.
_LINES = {
    "Pending": "pending",
    "Processing": "processing",
    "Completed": "completed",
    "Failed": "failed",
    "Dead (DLQ)": "dead",
    "Scheduled": "scheduled",
    "Blocked": "blocked",
    "Cancelled": "cancelled",
}


def build_parser() -> Parser:
    result = parser("status", _ABOUT, _EXAMPLES)
    result.add_argument("--queue", "-q", metavar="NAME", help="only this queue")
    result.add_argument(
        "--watch",
        "-w",
        nargs="?",
        const="1s",
        metavar="TIME",
        help="again and again, every second or so often; Ctrl+C ends it",
    )
    add_format(result, STATUS)
    return result


def main(words: list[str]) -> int:
    options = build_parser().parse_args(words)
    check_format(options)
    if options.watch is not None and options.json:
        raise InvalidInput("--json and --watch do not go together", "leave one of them out")
    if options.watch is not None:
        every_ms = parse_duration(options.watch, what="--watch")
        with open_queue(options) as queue:  # made if there is none: who watches waits for jobs to come
            return _watch(queue, options, every_ms)
    with look_at_queue(options) as queue:
        overview = Overview(queue, options.queue)
        if options.json:
            print_json(overview.document())
            return 0
        print("\n".join(_lines(overview, options.format)))
        if options.format is not None:
            return 0
        tell_of_crashes(queue)
        if not overview.total and not overview.workers:
            say("nothing here yet; try: queuectl enqueue 'echo hello' && queuectl worker start")
    return 0


def _lines(overview: Overview, template: Template | None) -> list[str]:
    if template is not None:
        return template.line(overview.document()).split("\n")
    lines = [f"Active Workers: {overview.workers}"]
    lines += [f"{title}: {overview.counts[state]}" for title, state in _LINES.items()]
    lines.append(f"Total: {overview.total}")
    if overview.oldest_ms is not None:
        lines.append(f"Oldest waiting: {format_age(overview.oldest_ms)}")
    if overview.per_minute:
        rate = plain_number(round(overview.per_minute, 1))
        lines.append(f"Throughput: {rate} jobs/min (last {overview.window_ms // 60_000} min)")
    estimate = overview.estimate
    if estimate.ms is not None:
        lines.append(f"ETA: ~{roughly(estimate.ms)} ({estimate.in_words()})")
    lines += [
        f"Queue {clean(rule.name)}: {'paused' if rule.paused_at else 'takes no new jobs'}"
        + (f" ({clean(rule.pause_reason)})" if rule.pause_reason else "")
        for rule in overview.resting
    ]
    if overview.progressing:
        lines.append("Progress:")
        lines += [f"  {clean(job.id)}: {clean(progress_of(job) or '')}" for job in overview.progressing]
    return lines


def _watch(queue: Queue, options: argparse.Namespace, every_ms: int) -> int:
    """Until Ctrl+C, which is the way to end it and no failure."""
    import time

    terminal = can_redraw()
    pause = max(every_ms, 100) / 1000
    try:
        if terminal:
            sys.stdout.write("\x1b[2J")  # once: what was on the screen would be overwritten line by line
        while True:
            lines = _lines(Overview(queue, options.queue), options.format)
            sys.stdout.write(_drawn(lines) if terminal else "\n".join(lines) + "\n\n")
            sys.stdout.flush()
            time.sleep(pause)
    except KeyboardInterrupt:
        return 0


def _drawn(lines: list[str]) -> str:
    """Home, then erase the rest of each line and what is below: nothing flickers.

    What does not fit is cut, or the screen would scroll at every look.
    """
    width, height = _screen_size()
    if len(lines) >= height:
        lines = [*lines[: height - 2], f"… and {len(lines) - height + 2} more lines"]
    short = [line if len(line) <= width else line[: width - 1] + "…" for line in lines]
    return "\x1b[H" + "".join(f"{line}\x1b[K\n" for line in short) + "\x1b[J"


def _screen_size() -> tuple[int, int]:
    import os

    try:
        columns, rows = os.get_terminal_size(sys.stdout.fileno())
    except OSError:
        columns = rows = 0
    return columns or 80, max(rows or 24, 4)  # some terminals say that they have no size
