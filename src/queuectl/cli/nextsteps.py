"""What to try next: three commands that fit how things stand. Pure; the figures come from `frontpage`."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_SHOWN = 3

Step = tuple[str, str]  # the words after `queuectl`, and what they are for

_FIRST: tuple[Step, ...] = (
    ('enqueue "echo hello"', "store a job"),
    ("run -- echo hello", "run one now, and see what it prints"),
    ("demo", "a tour of a few seconds, on a store of its own"),
)


class Situation:
    """How things stand, as far as it decides what comes next."""

    __slots__ = ("counts", "has_top", "paused", "schedules", "stuck", "workers")

    def __init__(
        self,
        counts: Mapping[str, int],
        *,
        workers: int = 0,
        schedules: int = 0,
        paused: Sequence[str] = (),
        stuck: str | None = None,
        has_top: bool = True,
    ) -> None:
        self.counts = counts
        self.workers = workers
        self.schedules = schedules
        self.paused = paused  # names of queues
        self.stuck = stuck  # a job that waits though workers are idle
        self.has_top = has_top  # what `top` needs is installed

    @property
    def empty(self) -> bool:
        return not any(self.counts.values()) and not self.schedules


def next_steps(situation: Situation) -> list[Step]:
    """Three of them, the most urgent first."""
    steps: list[Step] = []
    for step in _FIRST if situation.empty else _fitting(situation):
        if step not in steps:
            steps.append(step)
    return steps[:_SHOWN]


def _fitting(situation: Situation) -> Iterator[Step]:
    counts = situation.counts
    waiting = sum(counts[state] for state in ("pending", "scheduled", "blocked", "failed"))
    if not situation.workers and (waiting or situation.schedules):
        yield "worker start", "run what waits: no worker is running"
    if counts["dead"]:
        groups = "dlq groups", "what failed for good, sorted by the cause"
        yield groups if counts["dead"] > 1 else ("dlq list", "what failed for good, and how")
    if situation.paused and counts["pending"]:
        yield f"queue resume {situation.paused[0]}", "let a paused queue go on"
    if situation.stuck:
        yield f"explain {situation.stuck}", "why it waits though a worker is idle"
    if counts["dead"]:
        yield "dlq retry --all", "run those again, once their cause is mended"
    if counts["failed"]:
        yield "list --state failed", "what is tried again, and why it failed"
    if waiting or counts["processing"]:
        yield "status --watch", "the figures, every second"
        if situation.has_top:
            yield "top", "the live view"
    yield "list", "the jobs"
    yield "stats", "how fast, how often well, how long"
    yield _FIRST[0]
