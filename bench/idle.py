"""Many worker processes that have nothing to do: what they cost together."""

from __future__ import annotations

from bench.home import fresh_home
from bench.processes import own_mb, share_of_a_core
from bench.table import Result
from bench.targets import at_most, stated

PROCESSES = 64


def measure(*, quick: bool = False) -> list[Result]:
    """Over some heartbeats, which are 5 seconds apart. Their supervisor is one of them."""
    with fresh_home() as home, home.workers(count=PROCESSES) as workers, home.queue() as queue:
        assert len(workers) == PROCESSES, f"{len(workers)} of {PROCESSES} workers"
        supervisors = {worker.supervisor for worker in queue.store.workers() if worker.supervisor}
        pids = [*workers, *supervisors]
        share = share_of_a_core(pids, 11.0 if quick else 30.0)
        memory = sum(map(own_mb, pids))
    return [
        at_most(f"CPU of {PROCESSES} idle worker processes together", [share], "%", 5),
        stated("… their memory together, what they share counted once", [memory], "MB"),
    ]
