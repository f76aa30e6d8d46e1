"""Jobs that compute for 50 ms: what is left of the overhead when there is something to do.

The ideal is `xargs -P2` on the same commands in the same round. Half of the CPU time is another one, but
nobody reaches it on a machine that others use as well, so it is only stated.
"""

from __future__ import annotations

import resource
import subprocess

from bench.contestants import FLOOR
from bench.contestants.contestant import SLOTS
from bench.ours import Ours
from bench.places import not_measured
from bench.race import ratio
from bench.table import STATED, Result

CPU = 0.05  # seconds of each job
_LOOPS = 200_000


def _children() -> float:
    """CPU seconds of all processes that we have waited for, and of theirs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _burner(loops: int) -> str:
    return f"awk 'BEGIN {{ for (i = 0; i < {loops}; i++) x += i }}'"


def calibrated() -> str:
    """A command that computes for so long; the quickest of several tries is the least disturbed one."""
    used = []
    for _ in range(9):
        before = _children()
        subprocess.run(["sh", "-c", _burner(_LOOPS)], check=True)
        used.append(_children() - before)
    return _burner(int(_LOOPS * CPU / min(used)))


class Times:
    """Seconds of each round: ours, those of `xargs`, and half of the CPU time that its jobs took."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.ours: list[float] = []
        self.floor: list[float] = []
        self.ideal: list[float] = []

    def run_ours(self, command: str) -> None:
        self.ours.append(self.count / Ours("queuectl", processes=2, slots=1).rate(command, self.count))

    def run_floor(self, command: str) -> None:
        before = _children()
        self.floor.append(self.count / FLOOR.rate(command, self.count))
        self.ideal.append((_children() - before) / SLOTS)


def measure(*, rounds: int, count: int) -> list[Result]:
    what = f"{count} jobs of {CPU * 1000:.0f} ms CPU, {SLOTS} slots"
    if not FLOOR.at_hand():
        return [not_measured(what, f"no {FLOOR.name}")]
    command = calibrated()
    times = Times(count)
    turns = [times.run_ours, times.run_floor]
    for _ in range(rounds):
        turns.reverse()  # nobody is always the first
        for run in turns:
            run(command)
    return _results(what, times)


def _results(what: str, times: Times) -> list[Result]:
    over = ratio(times.ours, times.floor)
    reached = ratio(times.floor, times.ideal)
    return [
        Result(
            what,
            times.ours,
            "s",
            peer=FLOOR.name,
            peer_values=times.floor,
            ratio=over,
            target="≤ 1.02 ×",
            good=over <= 1.02,
        ),
        Result(
            f"… over their CPU time alone, where {FLOOR.name} has {reached:.2f}",
            times.ours,
            "s",
            peer=f"CPU / {SLOTS}",
            peer_values=times.ideal,
            ratio=ratio(times.ours, times.ideal),
            target=STATED,
            good=True,
        ),
    ]
