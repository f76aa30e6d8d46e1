"""The numbers of one moment: workers, jobs by state, how fast they are worked off."""

from __future__ import annotations

from functools import cached_property

from queuectl.app import living_workers
from queuectl.core.durations import plain_number
from queuectl.core.estimates import THROUGHPUT
from queuectl.editing import progressing
from queuectl.estimating import eta
from queuectl.queues import resting
from queuectl.store.messages import JobFilter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queuectl.core.estimates import Estimate
    from queuectl.queue import Queue

__all__ = ["Overview"]

_MOST_PROGRESS = 10  # jobs that tell how far they are

# The last minute is what matters to somebody who watches, if enough ended in it to tell a rate.
_ENOUGH = 10
_WINDOWS = ((60_000, _ENOUGH), (300_000, 1))
_LEAST_BUSY_MS = 500


class Overview:
    """Of the store, or of one queue."""

    def __init__(self, queue: Queue, name: str | None) -> None:
        self._queue, self._name = queue, name
        living = living_workers(queue.store)
        self.workers = len(living)
        self.slots = sum(worker.concurrency for worker in living)
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
            self._pace = self._present_pace(min(worker.started_at for worker in living))
            self.drain_ms = round(waiting / self._pace * 60_000)

    def _present_pace(self, since: int) -> float:
        """Jobs in a minute, without the time when there was nothing to do, or nobody.

        In the first second of 5,000 jobs the last minute is mostly that, and makes hours of what takes one.
        """
        busy_ms = self._queue.clock.now() - since
        if self.oldest_ms is not None:
            busy_ms = min(busy_ms, self.oldest_ms)
        busy_ms = max(busy_ms, _LEAST_BUSY_MS)
        if busy_ms >= self.window_ms:
            return self.per_minute
        recently = self._queue.stats(window_ms=busy_ms, queue=self._name).finished_recently
        ended = recently["completed"] + recently["dead"]
        return ended * 60_000 / busy_ms if ended >= _ENOUGH else self.per_minute

    @cached_property
    def estimate(self) -> Estimate:
        """When all will be done: by run times, else by the throughput. Only who shows it pays for it."""
        found = eta(self._queue, self._name)
        if found.ms is None and self.drain_ms is not None:
            counted = sum(self.counts[state] for state in ("pending", "processing", "failed"))
            counted -= found.paused + found.unserved
            if counted > 0:
                found.ms, found.by = round(counted / self._pace * 60_000), THROUGHPUT
        return found

    def to_dict(self) -> dict[str, object]:
        return {
            "jobs": self.counts,
            "total": self.total,
            "workers": self.workers,
            "slots": self.slots,
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

    def document(self) -> dict[str, object]:
        """With the estimate, which reads more: not for whoever asks every second."""
        return {**self.to_dict(), **self.estimate.to_dict()}


def _seconds(ms: int | None) -> float | int | None:
    return None if ms is None else plain_number(round(ms / 1000, 1))
