"""All numbers of one scrape, as the store has them; how they are written is left to `families`."""

from __future__ import annotations

from queuectl import __version__
from queuectl.app import workers_at_work
from queuectl.queues import resting
from queuectl.store.figures import REST

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Protocol

    from queuectl.metrics.naming import Naming, OnlyOne
    from queuectl.queue import Queue

    class Calls(Protocol):
        """Who counts what the store is asked: the pool of the dashboard."""

        calls: int
        seconds: float
        errors: int


class Reading:
    """Of one moment, or nearly: each kind of number is read by one statement."""

    def __init__(self, queue: Queue, naming: Naming | OnlyOne, *, calls: Calls | None = None) -> None:
        store = queue.store
        figures = store.figures()
        self.latency = figures.latency()
        self.names, self.ever = naming.counted(figures)
        self.depths = figures.depths(self.names)
        # Whether there are queues that are not named, and are to be shown.
        self.others = naming.others or (naming.shows_others and any(self.depths.get(REST, {}).values()))
        now = queue.clock.now()
        oldest = figures.oldest(self.depths).items()
        self.waiting = {name: max(now - since, 0) / 1000 for name, since in oldest}
        living = workers_at_work(store)
        self.workers = len(living)
        self.slots = sum(worker.concurrency for worker in living)
        self.running = sum(worker.running for worker in living)
        self.memory = sum(worker.memory_kb or 0 for worker in living) * 1024
        self.paused = sum(rule.paused_at is not None for rule in resting(queue))
        self.size, self.log_size = figures.sizes()
        self.schema = figures.schema()
        self.version, self.engine = __version__, store.location.engine
        self.calls = None if calls is None else (calls.calls, calls.seconds, calls.errors)

    @property
    def of_all(self) -> Mapping[str, int]:
        """What belongs to no queue, by kind."""
        return self.ever[REST]
