"""What a simulation is made of: a clock with an agenda, processors, a file's lock, a server's log.

Everything is told what to call when it is done. Who uses what for how long is left to `model`.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from heapq import heapify, heappop, heappush, heapreplace

from bench.simulation.costs import Line
from queuectl.clock import Clock

Action = Callable[[], object]

_EPOCH = 1_700_000_000_000  # milliseconds
# On a processor until others have their turn: seconds, as Linux grants, and no more turns for what takes long
# than the simulation can afford.
_SLICE, _TURNS = 0.003, 4
# SQLite's own: how many milliseconds a connection sleeps that finds the file locked, each time.
_BUSY_SLEEPS = (1, 2, 5, 10, 15, 20, 25, 25, 25, 50, 50, 100)


class Simulation(Clock):
    """Time that passes from one event to the next, in seconds."""

    def __init__(self, seed: int = 0) -> None:
        self.time = 0.0
        self.random = random.Random(seed)
        random.seed(seed)  # the worker's own code asks here
        self._agenda: list[tuple[float, int, Action]] = []
        self._entries = 0  # what comes at the same time keeps its order

    def now(self) -> int:
        return _EPOCH + int(self.time * 1000)

    def monotonic(self) -> float:
        return self.time

    def at(self, time: float, action: Action) -> None:
        self._entries += 1
        heappush(self._agenda, (time, self._entries, action))

    def after(self, seconds: float, action: Action) -> None:
        self.at(self.time + seconds, action)

    def run(self, until: float, done: Callable[[], bool] | None = None) -> None:
        """Up to a time, or until it is done."""
        agenda = self._agenda
        while agenda and agenda[0][0] <= until:
            if done is not None and done():
                return
            self.time, _, action = heappop(agenda)
            action()
        if done is None or not done():
            self.time = until


class Cores:
    """The processors of a machine: first come, first served, a slice at a time."""

    def __init__(self, sim: Simulation, count: int) -> None:
        self._sim = sim
        self._free_at = [0.0] * count
        heapify(self._free_at)
        self.count = count
        self.busy = 0.0  # seconds of all of them

    def run(self, seconds: float, then: Action) -> None:
        self._run(seconds, max(_SLICE, seconds / _TURNS), then)

    def _run(self, left: float, part: float, then: Action) -> None:
        if left > part:
            self._sim.at(self.charge(part), lambda: self._run(left - part, part, then))
        else:
            self._sim.at(self.charge(left), then)

    def charge(self, seconds: float) -> float:
        """Work that nobody waits for; returns when it is done."""
        end = max(self._free_at[0], self._sim.time) + seconds
        heapreplace(self._free_at, end)
        self.busy += seconds
        return end


class Places:
    """So many may be inside at once; the others wait in line."""

    def __init__(self, sim: Simulation, count: int) -> None:
        self._sim = sim
        self._free = count
        self._line: deque[Action] = deque()

    def enter(self, then: Action) -> None:
        if self._free:
            self._free -= 1
            then()
        else:
            self._line.append(then)

    def leave(self) -> None:
        if self._line:
            self._sim.after(0.0, self._line.popleft())
        else:
            self._free += 1


class Thread:
    """A Python process: whatever its threads do, one of them runs at a time."""

    def __init__(self, sim: Simulation, cores: Cores) -> None:
        self._turn = Places(sim, 1)
        self._cores = cores

    def run(self, seconds: float, then: Action) -> None:
        self._run(seconds, max(_SLICE, seconds / _TURNS), then)

    def _run(self, left: float, part: float, then: Action) -> None:
        def done() -> None:
            self._turn.leave()
            if left > part:
                self._run(left - part, part, then)
            else:
                then()

        self._turn.enter(lambda: self._cores.run(min(left, part), done))


class FileLock:
    """SQLite's write lock. Nobody stands in line: who finds it taken sleeps, ever longer, or gives up."""

    def __init__(self, sim: Simulation) -> None:
        self._sim = sim
        self._taken_at: float | None = None
        self.busy = 0.0

    def enter(self, patience: float, then: Action, failed: Action) -> None:
        self._try(patience, 0, then, failed)

    def _try(self, left: float, tries: int, then: Action, failed: Action) -> None:
        if self._taken_at is None:
            self._taken_at = self._sim.time
            then()
        elif left <= 0:
            failed()
        else:
            sleep = min(_BUSY_SLEEPS[min(tries, len(_BUSY_SLEEPS) - 1)] / 1000, left)
            self._sim.after(sleep, lambda: self._try(left - sleep, tries + 1, then, failed))

    def leave(self) -> None:
        assert self._taken_at is not None
        self.busy += self._sim.time - self._taken_at
        self._taken_at = None


class Log:
    """A server's write-ahead log: one flush at a time, and all who came during one share the next."""

    def __init__(self, sim: Simulation, cost: Line) -> None:
        self._sim = sim
        self._cost = cost
        self._waiting: list[Action] = []
        self._jobs = 0.0  # in the commits that wait
        self._flushing = False
        self.busy = 0.0

    def flush(self, jobs: float, then: Action) -> None:
        self._waiting.append(then)
        self._jobs += jobs
        if not self._flushing:
            self._begin()

    def _begin(self) -> None:
        group, self._waiting = self._waiting, []
        seconds, self._jobs = self._cost.at(self._jobs), 0.0
        self._flushing = True
        self.busy += seconds
        self._sim.after(seconds, lambda: self._end(group))

    def _end(self, group: list[Action]) -> None:
        self._flushing = False
        if self._waiting:
            self._begin()
        for then in group:
            then()
