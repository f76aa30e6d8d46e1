"""What actions on a store cost: processor time of both sides, and trips to the server.

Processor time and not the clock's: others may be busy on this machine. A server must be on this machine too,
or its processor time could not be seen.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from typing import Any

import psutil

from bench.places import MARIADB, POSTGRES, SQLITE
from bench.simulation.costs import Work, fit
from queuectl.queue import Queue

_ROUND_TRIPS = ("begin", "commit", "fetch", "execute", "insert", "update", "sum")
# What serves a connection, a process or a thread, by the number that the kernel knows it by.
_SERVING = {
    POSTGRES: "SELECT pg_backend_pid()",
    MARIADB: "SELECT tid FROM information_schema.processlist WHERE id = connection_id()",
}


@dataclass(frozen=True)
class Spent:
    """Seconds of processors, and trips, of one action on the average."""

    client: float
    server: float
    trips: float
    waited: float  # seconds in which neither processor worked for it


class _CountingDriver:
    """A driver that knows how often it was sent to the server."""

    def __init__(self, driver: Any) -> None:
        self._driver = driver
        self.trips = 0

    def __getattr__(self, name: str) -> Any:
        if name in _ROUND_TRIPS:
            self.trips += 1
        return getattr(self._driver, name)


class Meter:
    """For the connection of one queue."""

    def __init__(self, queue: Queue, engine: str) -> None:
        db: Any = queue.store.connection
        self.committing = db  # who has the method that waits for the disk
        self.serving = 0  # nobody: the store is a file
        self._driver: _CountingDriver | None = None
        if engine != SQLITE:
            self._forks = engine == POSTGRES  # it has a process for each connection
            self.serving = int(db.one(_SERVING[engine])[0])
            self.committing = db.driver
            self._driver = db.driver = _CountingDriver(db.driver)

    def of(self, action: Callable[[], object], times: int = 1) -> Spent:
        before = self._readings()
        for _ in range(times):
            action()
        return self._since(before, times)

    @contextmanager
    def watching(self, owner: Any, method: str) -> Iterator[list[Spent]]:
        """Meanwhile, what each call of a method has cost."""
        original = getattr(owner, method)
        found: list[Spent] = []

        def watched(*given: Any) -> Any:
            before = self._readings()
            answer = original(*given)
            found.append(self._since(before))
            return answer

        setattr(owner, method, watched)
        try:
            yield found
        finally:
            delattr(owner, method)

    def whole_server(self) -> float:
        """Seconds of the server's processors, for whatever it does beside serving this connection."""
        if not self.serving:
            return 0.0
        process = psutil.Process(_process_of(self.serving))
        family = [process.parent() or process] if self._forks else [process]
        family += family[0].children() if self._forks else []
        return sum(map(_seconds_of, family)) - _thread_seconds(self.serving)

    def _readings(self) -> Sequence[float]:
        trips = 0 if self._driver is None else self._driver.trips
        return time.perf_counter(), _thread_seconds(self.serving), trips, time.process_time()

    def _since(self, before: Sequence[float], times: int = 1) -> Spent:
        changes = [after - ago for after, ago in zip(self._readings(), before, strict=True)]
        passed, server, trips, client = (change / times for change in changes)
        return Spent(client, server, trips, max(passed - client - server, 0.0))


def _thread_seconds(thread: int) -> float:
    if not thread:
        return 0.0
    with open(f"/proc/{thread}/schedstat") as file:  # of a thread too, though it is not listed there
        return int(file.read().split()[0]) / 1e9


def _process_of(thread: int) -> int:
    with open(f"/proc/{thread}/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("Tgid:"))


def _seconds_of(process: psutil.Process) -> float:
    """With those of its children that have ended."""
    times = process.cpu_times()
    return float(times.user + times.system + times.children_user + times.children_system)


def mean(spent: Sequence[Spent]) -> Spent:
    rows = [astuple(one) for one in spent]
    return Spent(*(sum(column) / len(rows) for column in zip(*rows, strict=True)))


def work(spent: Mapping[int, Sequence[Spent]]) -> Work:
    """Lines through what was spent, by what was varied."""
    trips = [one.trips for many in spent.values() for one in many]
    return Work(
        fit({count: [one.client for one in many] for count, many in spent.items()}),
        fit({count: [one.server for one in many] for count, many in spent.items()}),
        sum(trips) / len(trips),
    )
