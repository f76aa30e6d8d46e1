"""queuectl status: the overview of workers, jobs and how fast it goes."""

from __future__ import annotations

import sys

from queuectl.cli.listing import progress_of
from queuectl.cli.options import open_queue, parser
from queuectl.cli.output import clean, is_terminal, print_json, say
from queuectl.core.durations import format_age, format_duration, parse_duration
from queuectl.core.job import plain_number
from queuectl.editing import progressing
from queuectl.errors import InvalidInput
from queuectl.queue import JobFilter
from queuectl.queues import resting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queuectl.cli.options import Parser
    from queuectl.queue import Queue

_ABOUT = "Show the active workers, the jobs by state, and how fast they are worked off."

_EXAMPLES = """
  queuectl status
  queuectl status --queue mail
  queuectl status --watch
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

_MOST_PROGRESS = 10  # jobs that tell how far they are

# The last minute is what matters to somebody who watches, if enough ended in it to tell a rate.
_WINDOWS = ((60_000, 10), (300_000, 1))


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
    return result


def main(words: list[str]) -> int:
    options = build_parser().parse_args(words)
    if options.watch is not None and options.json:
        raise InvalidInput("--json and --watch do not go together", "leave one of them out")
    with open_queue(options) as queue:
        if options.watch is not None:
            return _watch(queue, options.queue, parse_duration(options.watch, what="--watch"))
        overview = Overview(queue, options.queue)
        if options.json:
            print_json(overview.to_dict())
            return 0
        print("\n".join(overview.lines()))
        if not overview.total and not overview.workers:
            say("nothing here yet; try: queuectl enqueue 'echo hello' && queuectl worker start")
    return 0


class Overview:
    """The numbers of one moment."""

    def __init__(self, queue: Queue, name: str | None) -> None:
        from queuectl.app import living_workers

        self.workers = len(living_workers(queue.store))
        for window_ms, enough in _WINDOWS:
            stats = queue.stats(window_ms=window_ms, queue=name)
            ended = stats.finished_recently["completed"] + stats.finished_recently["dead"]
            if ended >= enough:
                break
        self.window_ms = window_ms
        self.counts = stats.counts
        self.total = sum(self.counts.values())
        self.oldest_ms = None
        if stats.oldest_pending is not None:
            self.oldest_ms = max(queue.clock.now() - stats.oldest_pending, 0)
        self.progressing = progressing(queue, JobFilter(queue=name), limit=_MOST_PROGRESS)
        self.resting = resting(queue, name)
        self.per_minute = ended * 60_000 / window_ms
        waiting = sum(self.counts[state] for state in ("pending", "processing", "failed"))
        self.drain_ms = None
        if waiting and self.per_minute and self.workers:
            self.drain_ms = round(waiting / self.per_minute * 60_000)

    def lines(self) -> list[str]:
        lines = [f"Active Workers: {self.workers}"]
        lines += [f"{title}: {self.counts[state]}" for title, state in _LINES.items()]
        lines.append(f"Total: {self.total}")
        if self.oldest_ms is not None:
            lines.append(f"Oldest waiting: {format_age(self.oldest_ms)}")
        if self.per_minute:
            rate = plain_number(round(self.per_minute, 1))
            lines.append(f"Throughput: {rate} jobs/min (last {self.window_ms // 60_000} min)")
        if self.drain_ms is not None:
            lines.append(f"Time to drain: ~{_roughly(self.drain_ms)}")
        lines += [
            f"Queue {clean(rule.name)}: {'paused' if rule.paused_at else 'takes no new jobs'}"
            + (f" ({clean(rule.pause_reason)})" if rule.pause_reason else "")
            for rule in self.resting
        ]
        if self.progressing:
            lines.append("Progress:")
            lines += [f"  {clean(job.id)}: {clean(progress_of(job) or '')}" for job in self.progressing]
        return lines

    def to_dict(self) -> dict[str, object]:
        return {
            "jobs": self.counts,
            "total": self.total,
            "workers": self.workers,
            "oldest_waiting_seconds": _seconds(self.oldest_ms),
            "throughput_per_minute": plain_number(round(self.per_minute, 2)),
            "drain_seconds": _seconds(self.drain_ms),
            "paused_queues": [rule.name for rule in self.resting if rule.paused_at],
            "draining_queues": [rule.name for rule in self.resting if rule.draining],
            "progress": [
                {"id": job.id, "progress": job.progress, "progress_text": job.progress_text}
                for job in self.progressing
            ],
        }


def _seconds(ms: int | None) -> float | int | None:
    return None if ms is None else plain_number(round(ms / 1000, 1))


def _roughly(ms: int) -> str:
    """An estimate, not more exact than it is: to the second, the minute or the hour."""
    for unit in (3_600_000, 60_000):
        if ms >= 10 * unit:
            ms = ms // unit * unit
            break
    return format_duration(max(ms // 1000, 1) * 1000)


def _watch(queue: Queue, name: str | None, every_ms: int) -> int:
    """Until Ctrl+C, which is the way to end it and no failure."""
    import time

    terminal = is_terminal()
    pause = max(every_ms, 100) / 1000
    try:
        while True:
            block = "\n".join(Overview(queue, name).lines()) + "\n"
            # Home, then erase the rest of each line and what is below: nothing flickers.
            if terminal:
                block = "\x1b[H" + block.replace("\n", "\x1b[K\n") + "\x1b[J"
            sys.stdout.write(block if terminal else block + "\n")
            sys.stdout.flush()
            time.sleep(pause)
    except KeyboardInterrupt:
        return 0
