"""The memory of a worker: at rest, over many jobs, and under a job that floods its output."""

from __future__ import annotations

from bench.home import fresh_home
from bench.table import Result

LIMIT_MB = 40.0


def measure(*, jobs: int = 20_000) -> list[Result]:
    with fresh_home() as home, home.queue() as queue, home.workers(concurrency=2) as (pid,):
        queue.enqueue_many(["true"] * 1000)
        queue.wait(filter=None)
        warm = _resident_mb(pid)
        queue.enqueue_many(["true"] * jobs)
        queue.wait(filter=None)
        after = _resident_mb(pid)
        queue.enqueue("head -c 1G /dev/zero")
        queue.wait(filter=None)
        flooded = _peak_mb(pid)
    grown = after - warm
    return [
        Result("worker memory after 1,000 jobs", [warm], "MB", target="< 40", good=warm < LIMIT_MB),
        Result(f"… growth over {jobs:,} more", [grown], "MB", target="< 2", good=grown < 2),
        Result(
            "… peak, with a job that writes 1 GB", [flooded], "MB", target="< 40", good=flooded < LIMIT_MB
        ),
    ]


def _resident_mb(pid: int) -> float:
    return _status(pid, "VmRSS")


def _peak_mb(pid: int) -> float:
    return _status(pid, "VmHWM")


def _status(pid: int, field: str) -> float:
    with open(f"/proc/{pid}/status") as file:
        for line in file:
            if line.startswith(field + ":"):
                return int(line.split()[1]) / 1024
    raise ValueError(field)
