"""The memory of a worker: with few and many commands at once, over many jobs, under a flood of output."""

from __future__ import annotations

from bench.home import fresh_home
from bench.processes import peak_mb, resident_mb
from bench.table import Result
from bench.targets import at_most
from queuectl.queue import Queue
from queuectl.testing import wait_until

BASE_MB, SLOT_MB = 35.0, 0.05
SLOTS = (2, 256)
GROWN_MB = 2.0
_PATIENCE = 60.0


def busy(slots: int) -> Result:
    """At its highest, until all slots have been in use at the same moment for a second, and after it."""
    with fresh_home() as home, home.queue() as queue, home.workers(concurrency=slots) as (pid,):
        queue.enqueue_many(["echo hello; sleep 3"] * slots)
        wait_until(lambda: _running(queue) == slots, timeout=_PATIENCE)
        queue.wait(filter=None)
        peak = peak_mb(pid)
    return at_most(f"worker memory, {slots} slots busy at once", [peak], "MB", BASE_MB + slots * SLOT_MB)


def _running(queue: Queue) -> int:
    return queue.stats().counts["processing"]


def over_time(jobs: int) -> list[Result]:
    with fresh_home() as home, home.queue() as queue, home.workers(concurrency=2) as (pid,):
        queue.enqueue_many(["echo hello"] * 1_000)
        queue.wait(filter=None)
        warm = resident_mb(pid)
        queue.enqueue_many(["echo hello"] * jobs)
        queue.wait(filter=None)
        after = resident_mb(pid)
        queue.enqueue("head -c 1G /dev/zero")
        queue.wait(filter=None)
        flooded = peak_mb(pid)
    most = BASE_MB + 2 * SLOT_MB
    return [
        at_most("worker memory after 1,000 jobs", [warm], "MB", most),
        at_most(f"… growth over {jobs:,} more", [after - warm], "MB", GROWN_MB),
        at_most("… peak, with a job that writes 1 GB", [flooded], "MB", most),
    ]


def measure(*, quick: bool = False) -> list[Result]:
    return [*map(busy, SLOTS), *over_time(10_000 if quick else 100_000)]
