"""When the work that waits will be done: run times divided among slots. Pure arithmetic.

Where the run times come from, and who serves what, is left to `queuectl.estimating`. It is an estimate: each
job is taken to succeed at its first attempt, and workers to stay as they are.
"""

from __future__ import annotations

from queuectl.core.durations import format_duration

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

COMMANDS, QUEUES, MIXED, THROUGHPUT = "commands", "queues", "mixed", "throughput"
_LEAST_MS = 2  # of a slot for each job, however short: it is claimed, started and stored
_OVERDUE = 10  # who has taken longer than usual takes a tenth of that again


def remaining_ms(elapsed: int, usual: int | None, progress: int | None = None) -> int | None:
    """How long a running command will go on; None if nobody knows. What it says itself counts most."""
    if progress:
        return elapsed * (100 - progress) // progress
    if usual is None:
        return None
    return usual - elapsed if elapsed < usual else elapsed // _OVERDUE


class Line:
    """What waits and runs in one queue, and how fast it may go."""

    __slots__ = (
        "concurrency",
        "is_paused",
        "known",
        "last_due",
        "name",
        "rate",
        "running",
        "slots",
        "unknown",
        "usual",
        "waiting",
    )

    def __init__(self, name: str, waiting: int, *, slots: int) -> None:
        self.name = name
        self.waiting = waiting  # jobs
        self.slots = slots  # of the workers that serve it
        self.known: Sequence[int] = ()  # a sample of what waits: milliseconds, where the command is known
        self.unknown = 0  # so many of the sample are not
        self.usual: int | None = None  # a job of this queue, whatever it runs
        self.running: Sequence[int | None] = ()  # what is left of each job that runs
        self.concurrency: int | None = None
        self.rate: float | None = None  # jobs in a millisecond
        self.last_due = 0  # milliseconds until the last that waits for its time may start
        self.is_paused = False

    @property
    def places(self) -> int:
        return self.slots if self.concurrency is None else min(self.slots, self.concurrency)

    def mean(self, otherwise: float | None) -> float | None:
        """Of a job that waits; `otherwise` where neither its command nor its queue is known."""
        guess = otherwise if self.usual is None else self.usual
        sampled = len(self.known) + self.unknown
        if not sampled:
            return guess
        if guess is None:
            return sum(self.known) / len(self.known) if self.known else None
        return (sum(self.known) + self.unknown * guess) / sampled


class Estimate:
    """`ms` is None if nobody can tell. `by`: what it was worked out from."""

    __slots__ = ("by", "guessed", "known", "ms", "paused", "queue_known", "unserved")

    def __init__(self) -> None:
        self.ms: int | None = None
        self.by: str | None = None
        self.known = self.queue_known = self.guessed = 0  # jobs: by command, by queue, like the others
        self.unserved = self.paused = 0  # jobs that are not in it

    @property
    def share_known(self) -> int | None:
        """Percent of the jobs whose own command is known."""
        total = self.known + self.queue_known + self.guessed
        return 100 * self.known // total if total and self.ms is not None else None

    def in_words(self) -> str:
        """What stands behind the number, in parentheses."""
        if self.by == THROUGHPUT:
            told = "by the throughput, as run times are not known yet"
        elif self.by == COMMANDS:
            told = "by the run times of these commands"
        elif self.by == QUEUES or not self.share_known:
            told = "by the usual run time of their queues"
        else:
            told = f"by the run times of these commands, {self.share_known}% of them known"
        left_out = [
            f"{jobs:,} {why}"
            for jobs, why in ((self.unserved, "that no worker takes"), (self.paused, "of paused queues"))
            if jobs
        ]
        return told + (f"; without {' and '.join(left_out)}" if left_out else "")

    def to_dict(self) -> dict[str, object]:
        return {
            "eta_seconds": None if self.ms is None else round(self.ms / 1000, 1),
            "eta": {
                "by": self.by,
                "known_percent": self.share_known,
                "not_served": self.unserved,
                "paused": self.paused,
            },
        }


def estimate(lines: Sequence[Line], slots: int) -> Estimate:
    """`slots`: of all workers that serve any of these queues."""
    result = Estimate()
    counted = []
    for line in lines:
        if line.is_paused:
            result.paused += line.waiting
        elif line.places <= 0:
            result.unserved += line.waiting
        else:
            counted.append(line)
    otherwise = _mean_of_all(counted)
    longest = work = 0.0
    for line in counted:
        mean = line.mean(otherwise)
        if mean is None and (line.waiting or None in line.running):
            return result  # nothing is known of anything
        load, at_least = _burden(line, max(mean or 0.0, _LEAST_MS))
        work += load
        longest = max(longest, load / line.places, at_least)
        _count(result, line)
    if not counted or not any(line.waiting or line.running for line in counted):
        return result
    result.ms = round(max(longest, work / max(slots, 1)))
    result.by = _basis(result)
    return result


def _mean_of_all(lines: Sequence[Line]) -> float | None:
    known = [ms for line in lines for ms in line.known]
    usual = [line.usual for line in lines if line.usual is not None]
    return sum(known) / len(known) if known else sum(usual) / len(usual) if usual else None


def _burden(line: Line, mean: float) -> tuple[float, float]:
    """Milliseconds of work in all, and how long it takes at least with any number of slots."""
    left = [line.usual or mean if ms is None else ms for ms in line.running]
    at_least = max(max(left, default=0.0), line.last_due + mean if line.waiting else 0.0)
    if line.rate and line.waiting > 1:
        at_least = max(at_least, (line.waiting - 1) / line.rate + mean)
    return line.waiting * mean + sum(left), at_least


def _count(result: Estimate, line: Line) -> None:
    sampled = len(line.known) + line.unknown
    known = line.waiting * len(line.known) // sampled if sampled else 0
    known_running = sum(1 for ms in line.running if ms is not None)
    others = line.waiting - known + len(line.running) - known_running
    result.known += known + known_running
    if line.usual is None:
        result.guessed += others
    else:
        result.queue_known += others


def _basis(result: Estimate) -> str:
    if not result.queue_known and not result.guessed:
        return COMMANDS
    return QUEUES if not result.known and not result.guessed else MIXED


def roughly(ms: int) -> str:
    """An estimate, not more exact than it is: to the second, the minute or the hour."""
    for unit in (3_600_000, 60_000):
        if ms >= 10 * unit:
            ms = ms // unit * unit
            break
    return format_duration(max(ms // 1000, 1) * 1000)
