"""How soon a job on an idle queue starts, and what an idle worker costs meanwhile."""

from __future__ import annotations

import os
import time

from bench.home import fresh_home
from bench.table import Result
from queuectl.testing import wait_until


def measure(*, jobs: int = 200, idle_seconds: float = 10.0) -> list[Result]:
    with fresh_home() as home, home.queue() as queue, home.workers() as (pid,):
        waits = []
        for _ in range(jobs):
            before = queue.clock.now()
            job = queue.enqueue("true")
            wait_until(lambda id=job.id: queue.get(id).state == "completed")  # type: ignore[misc]
            (attempt,) = queue.attempts(queue.get(job.id))
            waits.append(max((attempt.started_at or 0) - before, 0))
        began, used = time.monotonic(), _cpu_seconds(pid)
        time.sleep(idle_seconds)
        idle = (_cpu_seconds(pid) - used) / (time.monotonic() - began) * 100
    waits.sort()
    p50, p99 = waits[len(waits) // 2], waits[int(len(waits) * 0.99)]
    return [
        Result("pick-up latency on an idle queue, p50", [p50], "ms", target="≤ 5", good=p50 <= 5),
        Result("pick-up latency on an idle queue, p99", [p99], "ms", target="≤ 20", good=p99 <= 20),
        Result("CPU of one idle worker", [idle], "% of a core", target="< 0.5", good=idle < 0.5),
    ]


def _cpu_seconds(pid: int) -> float:
    """From schedstat: nanoseconds on the CPU, finer than the clock ticks of stat."""
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/schedstat") as file:
            total += int(file.read().split()[0])
    return total / 1e9
