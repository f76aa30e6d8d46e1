"""Commands per second end to end, against `xargs -P2` on the same commands in the same run."""

from __future__ import annotations

import subprocess
import time

from bench.home import fresh_home
from bench.table import Result, median

COMMANDS = ("true", "echo hello")


def xargs(command: str, count: int) -> float:
    began = time.perf_counter()
    subprocess.run(
        ["xargs", "-P2", "-d", "\n", "-n1", "sh", "-c"],
        input="\n".join([command] * count),
        text=True,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return count / (time.perf_counter() - began)


def queuectl(command: str, count: int) -> float:
    """Durable (synchronous=FULL), output kept. From the first start to the last stored result."""
    with fresh_home() as home, home.queue() as queue:
        queue.enqueue_many([command] * count)
        with home.workers(concurrency=2):
            queue.wait(filter=None)
        began, ended = queue.store.connection.all(  # type: ignore[attr-defined]
            "SELECT min(started_at), max(updated_at) FROM jobs"
        )[0]
        done = queue.stats().counts["completed"]
    assert done == count, f"{done} of {count} completed"
    return float(count / ((ended - began) / 1000))


def measure(*, rounds: int = 5, count: int = 3000) -> list[Result]:
    results = []
    for command in COMMANDS:
        ours: list[float] = []
        theirs: list[float] = []
        for _ in range(rounds):
            theirs.append(xargs(command, count))
            ours.append(queuectl(command, count))
        ratio = median([mine / peer for mine, peer in zip(ours, theirs, strict=True)])
        results.append(
            Result(
                f"commands/s end to end, sh -c {command!r}, 2 slots",
                ours,
                "/s",
                peer="xargs -P2",
                peer_values=theirs,
                ratio=ratio,
                target="≥ 0.9",
                good=ratio >= 0.9,
            )
        )
    return results
