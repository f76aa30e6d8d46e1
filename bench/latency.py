"""How soon a job on an idle queue runs, and what an idle worker costs meanwhile.

Picking up is from when `enqueue` has returned, the job being durable, until its command runs: the doorbell,
the worker's claim and its commit. Timed is until a byte that the command wrote has reached us; the start of a
shell and waking us are not the queue's: the same command is also started by ourselves, in turn, and the
median of that is taken off. The whole way from before the call of `enqueue` is stated too.
"""

from __future__ import annotations

import os
import random
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.places import POSTGRES, SERVERS, SQLITE, Place, found, fresh_place, not_measured
from bench.processes import share_of_a_core
from bench.table import STATED, Result
from bench.targets import at_most, quantile, stated
from queuectl.queue import Queue

_PAUSE = (0.02, 0.06)  # seconds until the next: by then its result is stored and the worker sleeps again
_P50 = {SQLITE: 2.0, POSTGRES: 3.0}  # milliseconds
_P99 = {SQLITE: 10.0}


class Line:
    """A FIFO that a command writes a byte to. We sleep in a read meanwhile: nobody polls."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        # Opened for writing too, so that it never reports end of file between two commands.
        self._fd = os.open(path, os.O_RDWR)
        self.command = f"echo >{path}"

    def wait(self) -> None:
        os.read(self._fd, 1)

    def close(self) -> None:
        os.close(self._fd)


@contextmanager
def _line(place: Place) -> Iterator[Line]:
    line = Line(place.path / "line")
    try:
        yield line
    finally:
        line.close()


class Waits:
    """Milliseconds of each job."""

    def __init__(self) -> None:
        self.first_byte: list[float] = []
        self.enqueued: list[float] = []  # until `enqueue` returned
        self.bare: list[float] = []  # until the same command wrote its byte when we started it ourselves
        self.ids: list[tuple[str, int]] = []  # and the time at which it was enqueued

    def add(self, queue: Queue, line: Line) -> None:
        now, began = queue.clock.now(), time.perf_counter()
        job = queue.enqueue(line.command)
        returned = time.perf_counter()
        line.wait()
        self.first_byte.append((time.perf_counter() - began) * 1000)
        self.enqueued.append((returned - began) * 1000)
        self.ids.append((job.id, now))

    def add_bare(self, line: Line) -> None:
        began = time.perf_counter()
        with subprocess.Popen(["/bin/sh", "-c", line.command]):
            line.wait()
            self.bare.append((time.perf_counter() - began) * 1000)

    def recorded(self, queue: Queue) -> list[float]:
        """The same by the attempts' records: whole milliseconds until the command was started."""
        return [
            max((attempt.started_at or 0) - now, 0)
            for id, now in self.ids
            for attempt in queue.attempts(queue.get(id))
        ]


def on(engine: str, servers: dict[str, str], *, jobs: int, idle_seconds: float) -> list[Result]:
    waits = Waits()
    with (
        fresh_place(engine, servers) as place,
        _line(place) as line,
        place.queue() as queue,
        place.workers() as (pid,),
    ):
        for _ in range(jobs):
            time.sleep(random.uniform(*_PAUSE))
            waits.add(queue, line)
            time.sleep(random.uniform(*_PAUSE))
            waits.add_bare(line)
        recorded = waits.recorded(queue)
        idle = share_of_a_core([pid], idle_seconds)
    return [
        *_results(engine, waits, recorded),
        at_most(f"CPU of an idle worker on {engine}", [idle], "%", 0.2),
    ]


def _results(engine: str, waits: Waits, recorded: list[float]) -> list[Result]:
    what = f"pick-up latency on an idle queue on {engine}"
    bare = quantile(waits.bare, 0.5)
    results = []
    picked_up = [whole - stored for whole, stored in zip(waits.first_byte, waits.enqueued, strict=True)]
    for name, share, bounds in (("p50", 0.5, _P50), ("p99", 0.99, _P99)):
        values = [max(quantile(picked_up, share) - bare, 0)]
        if engine in bounds:
            results.append(at_most(f"{what}, {name}", values, "ms", bounds[engine]))
        else:
            results.append(stated(f"{what}, {name}", values, "ms"))
    whole = "… from before the call of enqueue,"
    return [
        *results,
        stated(f"{whole} p50", [quantile(waits.first_byte, 0.5) - bare], "ms"),
        stated(f"{whole} p99", [quantile(waits.first_byte, 0.99) - bare], "ms"),
        stated("… until enqueue returned, p50", [quantile(waits.enqueued, 0.5)], "ms"),
        stated("… until its start as it was recorded, in whole ms, p50", [quantile(recorded, 0.5)], "ms"),
        Result(
            "… with the command's own start, until its first byte, p50",
            [quantile(waits.first_byte, 0.5)],
            "ms",
            target=STATED,
            good=True,
            peer="started by ourselves",
            peer_values=[bare],
        ),
    ]


def measure(*, quick: bool = False) -> list[Result]:
    jobs, idle_seconds = (50, 6.0) if quick else (300, 30.0)
    servers = found()
    results = []
    for engine in (SQLITE, *SERVERS):
        if engine in (SQLITE, *servers):
            results += on(engine, servers, jobs=jobs, idle_seconds=idle_seconds)
        else:
            results.append(not_measured(f"pick-up latency on {engine}", "no server"))
    return results
