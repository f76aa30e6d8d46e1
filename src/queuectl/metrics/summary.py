"""What happened in the last hours or days, summed up: of all queues together, and of each."""

from __future__ import annotations

from queuectl.core import states
from queuectl.core.measures import RUN, WAIT, classes, percentile
from queuectl.store.figures import REST
from queuectl.store.tallies import ENQUEUED, MINUTE_MS, STARTED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from queuectl.history import Range
    from queuectl.queue import Queue

__all__ = ["Summary", "summaries"]

_KINDS = (ENQUEUED, STARTED, *states.TERMINAL, states.FAILED)


class Summary:
    """Of one queue, or of all."""

    __slots__ = ("counts", "minutes", "queue", "run", "wait")

    def __init__(self, queue: str | None, counts: Mapping[str, int], minutes: float) -> None:
        self.queue = queue
        self.minutes = minutes
        self.counts = {kind: counts.get(kind, 0) for kind in _KINDS}
        self.wait = _percentiles(WAIT, counts)  # p50 and p95 in seconds; None: nothing was measured
        self.run = _percentiles(RUN, counts)

    @property
    def is_empty(self) -> bool:
        return not any(self.counts.values())

    @property
    def ended(self) -> int:
        """By themselves: what somebody has cancelled is neither a success nor a failure."""
        return self.counts[states.COMPLETED] + self.counts[states.DEAD]

    @property
    def per_minute(self) -> float:
        return self.ended / self.minutes

    @property
    def success_rate(self) -> float | None:
        return self.counts[states.COMPLETED] / self.ended if self.ended else None

    def to_dict(self) -> dict[str, object]:
        rate = self.success_rate
        return {
            "queue": self.queue,
            **self.counts_by_name(),
            "throughput_per_minute": round(self.per_minute, 4),
            "success_rate": None if rate is None else round(rate, 4),
            "wait_seconds": dict(zip(("p50", "p95"), self.wait, strict=True)),
            "run_seconds": dict(zip(("p50", "p95"), self.run, strict=True)),
        }

    def counts_by_name(self) -> dict[str, int]:
        """With a name for each count that says what it is: attempts that failed are no jobs."""
        return {"failed_attempts" if kind == states.FAILED else kind: n for kind, n in self.counts.items()}


def summaries(queue: Queue, chosen: Range) -> tuple[int, Summary, list[Summary]]:
    """Since when (epoch ms); all queues together; each in which something happened, the busiest first."""
    now = queue.clock.now()
    # As in `history`: whole steps, of which the last is not over.
    first = now // MINUTE_MS // chosen.step * chosen.step - chosen.whole + chosen.step
    minutes = max(now / MINUTE_MS - first, 1.0)
    found = queue.store.figures().since(chosen.step, first)
    whole = Summary(None, found.pop(REST), minutes)
    each = [Summary(name, counts, minutes) for name, counts in found.items()]
    each.sort(key=lambda one: (-one.ended, -one.counts[ENQUEUED], str(one.queue)))
    return first * MINUTE_MS, whole, [one for one in each if not one.is_empty]


def _percentiles(what: str, counts: Mapping[str, int]) -> tuple[float | None, float | None]:
    found = classes(what, counts)
    return percentile(found, 0.5), percentile(found, 0.95)
