"""queuectl stats: the last hours and days in few numbers."""

from __future__ import annotations

from queuectl.cli.options import look_at_queue, parser
from queuectl.cli.output import print_json, print_table, say
from queuectl.core.durations import format_duration, parse_duration, plain_number
from queuectl.core.spec import check_queue
from queuectl.core.times import describe_when, iso
from queuectl.errors import InvalidInput
from queuectl.history import range_of
from queuectl.metrics.summary import Summary, summaries

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queuectl.cli.options import Parser
    from queuectl.queue import Queue

_ABOUT = """Sum up the last hours or days: how much was done, how much of it went well, how long
jobs waited and ran. p50 is the middle: half of them took less; of 100 jobs 95 took less than p95.
The past is kept in steps: of a minute for 3 hours, of 10 for a day, of an hour for a week, of 4 for a
month, then of a day. A time is rounded up to whole ones."""

_EXAMPLES = """
  queuectl stats
  queuectl stats --since 90m
  queuectl stats --since 7d
  queuectl stats --queue mail --since 1h
  queuectl stats --json
"""

_HEADER = (
    *("QUEUE", "ENQUEUED", "COMPLETED", "DEAD", "FAILED ATTEMPTS", "SUCCESS"),
    *("WAIT P50", "WAIT P95", "RUN P50", "RUN P95"),
)
_MOST_ROWS = 50
_MONTH_MS = 30 * 86_400_000


def build_parser() -> Parser:
    result = parser("stats", _ABOUT, _EXAMPLES)
    result.add_argument("--queue", "-q", metavar="NAME", help="only this queue")
    result.add_argument(
        "--since", default="24h", metavar="TIME", help="how far back: 90m, 12h, 7d (default: 24h)"
    )
    return result


def main(words: list[str]) -> int:
    options = build_parser().parse_args(words)
    asked_ms = parse_duration(options.since, what="--since")
    if not asked_ms:
        raise InvalidInput("--since 0 is no time", "like: queuectl stats --since 1h")
    chosen = range_of(asked_ms)
    with look_at_queue(options) as queue:
        since, whole, each = summaries(queue, chosen)
        if options.queue is not None:
            whole, each = _one(queue, check_queue(options.queue), whole, each), []
        if options.json:
            print_json(
                {
                    "range": options.since,
                    "since": iso(since),
                    **whole.to_dict(),
                    "queues": [one.to_dict() for one in each],
                }
            )
            return 0
        name = " ".join(options.since.split())
        if chosen.whole * 60_000 != asked_ms:
            name += f", in steps of {format_duration(chosen.step * 60_000)}"
        print("\n".join(_lines(whole, name, describe_when(since, now_ms=queue.clock.now()))))
    if len(each) > 1:
        print()
        print_table(
            _HEADER,
            [_row(one) for one in each[:_MOST_ROWS]],
            spare=("WAIT P50", "RUN P50", "FAILED ATTEMPTS"),
        )
    if len(each) > _MOST_ROWS:
        say(f"{len(each) - _MOST_ROWS:,} more queues; --json has all of them")
    if whole.is_empty:
        say(
            "nothing happened in that time"
            + ("; --since 30d looks further back" if asked_ms < _MONTH_MS else "")
        )
    return 0


def _one(queue: Queue, name: str, whole: Summary, each: list[Summary]) -> Summary:
    for summary in each:
        if summary.queue == name:
            return summary
    from queuectl.queues import find

    find(queue, name)  # or it says which there are
    return Summary(name, {}, whole.minutes)


def _lines(summary: Summary, range_name: str, since: str) -> list[str]:
    counts = summary.counts
    return [
        f"Last {range_name}: since {since}",
        f"Enqueued: {counts['enqueued']:,}",
        f"Completed: {counts['completed']:,}",
        f"Dead: {counts['dead']:,}",
        f"Cancelled: {counts['cancelled']:,}",
        f"Failed attempts, tried again: {counts['failed']:,}",
        f"Throughput: {_rate(summary.per_minute)}",
        f"Success rate: {_share(summary.success_rate)}",
        f"Wait: {_both(summary.wait)}",
        f"Run: {_both(summary.run)}",
    ]


def _row(summary: Summary) -> tuple[str, ...]:
    counts = summary.counts
    return (
        str(summary.queue),
        *(f"{counts[kind]:,}" for kind in ("enqueued", "completed", "dead", "failed")),
        _share(summary.success_rate),
        *(_time(seconds) for seconds in (*summary.wait, *summary.run)),
    )


def _rate(per_minute: float) -> str:
    """In the unit in which the number is easily read."""
    for unit, times in (("min", 1), ("hour", 60)):
        if per_minute * times >= 1 or unit == "hour":
            break
    return f"{plain_number(round(per_minute * times, 1)):,} jobs/{unit}"


def _share(rate: float | None) -> str:
    if rate is None:
        return "-"
    # Rounded down: 100 % means that nothing failed.
    return f"{plain_number(int(rate * 1000) / 10)}%"


def _both(times: tuple[float | None, float | None]) -> str:
    if times[0] is None:
        return "nothing measured"
    return f"p50 {_time(times[0])}, p95 {_time(times[1])}"


def _time(seconds: float | None) -> str:
    """Three digits at most: it is an estimate."""
    if seconds is None:
        return "-"
    ms = seconds * 1000
    for size in (3_600_000, 60_000, 1_000):
        if ms >= 10 * size:
            return format_duration(round(ms / size) * size)
    step = 100 if ms >= 1_000 else 10 if ms >= 100 else 1
    return format_duration(round(ms / step) * step)
