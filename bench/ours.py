"""queuectl as a contestant: every job durable (on SQLite synchronous=FULL), its output kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from bench.contestants import Lost
from bench.places import SQLITE, Place, fresh_place


@dataclass(frozen=True)
class Ours:
    """A way to run it: so many processes with so many slots each, on an engine."""

    name: str
    processes: int = 1
    slots: int = 2
    count: int = 3000
    engine: str = SQLITE
    servers: Mapping[str, str] = field(default_factory=dict)

    def rate(self, command: str, count: int) -> float:
        with fresh_place(self.engine, self.servers) as place:
            return commands_per_second(place, command, count, processes=self.processes, slots=self.slots)


def commands_per_second(
    place: Place, command: str, count: int, *, processes: int = 1, slots: int = 2
) -> float:
    """From the first start to the last stored result. The workers are there before the jobs: several
    processes take a while to start, and the first one would be alone meanwhile.
    """
    with place.queue() as queue, place.workers(count=processes, concurrency=slots):
        queue.enqueue_many([command] * count)
        queue.wait(filter=None)
        began, ended = queue.store.connection.all("SELECT min(started_at), max(updated_at) FROM jobs")[0]
        done = queue.stats().counts["completed"]
    if done != count:
        raise Lost(f"{done} of {count} completed")
    return count / ((int(str(ended)) - int(str(began))) / 1000)
