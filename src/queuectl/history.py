"""The last hours and days of a queue, step by step: what its graphs show."""

from __future__ import annotations

from queuectl.core import states
from queuectl.core.measures import RUN, WAIT, classes, percentile
from queuectl.store.history import DAY, FOUR, HOUR, KEPT, MINUTE, SAMPLES, TEN, depth_of
from queuectl.store.tallies import ENQUEUED, MINUTE_MS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queuectl.queue import Queue

__all__ = ["RANGES", "Range", "history", "range_of"]


class Range:
    """How far back, and in which steps; both in minutes."""

    __slots__ = ("step", "whole")

    def __init__(self, whole: int, step: int) -> None:
        self.whole = whole
        self.step = step  # also what the rows that it is made of stand for


RANGES = {
    "1h": Range(60, MINUTE),
    "24h": Range(24 * 60, TEN),
    "7d": Range(7 * 24 * 60, HOUR),
    "30d": Range(30 * 24 * 60, FOUR),
}
_STEPS = (MINUTE, TEN, HOUR, FOUR, DAY)


def range_of(ms: int) -> Range:
    """So far back, in the smallest steps that are kept for so long; rounded up to whole ones."""
    minutes = max(-(-ms // MINUTE_MS), 1)
    for step in _STEPS:
        whole = -(-minutes // step) * step
        if whole + step <= KEPT.get(step, whole + step):
            break
    return Range(whole, step)


_FLOWS = (states.COMPLETED, states.DEAD, states.FAILED, states.CANCELLED, ENQUEUED)
_DEPTHS = (*(s for s in states.ALL if s not in states.TERMINAL), states.DEAD)


def history(queue: Queue, range_name: str, name: str | None = None) -> dict[str, object]:
    """Arrays of one length, oldest first; None where nothing is known."""
    chosen = RANGES[range_name]
    last = queue.clock.now() // MINUTE_MS // chosen.step * chosen.step
    first = last - chosen.whole + chosen.step
    starts = list(range(first, last + 1, chosen.step))
    steps: dict[int, dict[str, int]] = {start: {} for start in starts}
    for start, kind, amount in queue.store.history().series(chosen.step, first, name):
        if start in steps:  # the clock of another machine may be ahead
            steps[start][kind] = amount
    found = list(steps.values())
    return {
        "range": range_name,
        "queue": name,
        "step_seconds": chosen.step * 60,
        "times": [start * 60 for start in starts],
        **{kind: [step.get(kind, 0) for step in found] for kind in _FLOWS},
        "depth": {state: [_depth(step, state) for step in found] for state in _DEPTHS},
        **{
            what: {
                name: [percentile(classes(what, step), share) for step in found]
                for name, share in (("p50", 0.5), ("p95", 0.95))
            }
            for what in (WAIT, RUN)
        },
    }


def _depth(step: dict[str, int], state: str) -> float | None:
    samples = step.get(SAMPLES, 0)
    return round(step.get(depth_of(state), 0) / samples, 1) if samples else None
