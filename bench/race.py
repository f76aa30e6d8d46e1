"""Contestants that take turns: every round runs each of them once, so that a slow minute is everybody's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from bench.contestants import Contestant, Lost, Missing
from bench.ours import Ours
from bench.table import median

FAILURES = (Missing, Lost, OSError)


class Racer(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def count(self) -> int: ...

    def rate(self, command: str, count: int) -> float: ...


class Field:
    """Who takes part; and who does not, and why."""

    def __init__(self, ours: Sequence[Ours], *, most: int) -> None:
        self.racers: list[Racer] = list(ours)
        self.absent: dict[str, str] = {}
        self._most = most  # commands of one run, for those who would run more

    def invite(self, contestant: Contestant) -> None:
        """It is installed, and must show that it runs what it is given."""
        try:
            contestant.prepare()
            contestant.prove()
        except FAILURES as error:
            self.absent[contestant.name] = str(error)
        else:
            self.racers.append(contestant)

    def run(self, command: str, *, rounds: int) -> Mapping[str, list[float]]:
        """Commands per second of each, by round. Who loses a command is out."""
        rates: dict[str, list[float]] = {racer.name: [] for racer in self.racers}
        for round in range(rounds):
            # Every other one backwards: nobody is always the first, and neighbours stay neighbours.
            for racer in self.racers[:: -1 if round % 2 else 1]:
                try:
                    rates[racer.name].append(racer.rate(command, min(racer.count, self._most)))
                except FAILURES as error:
                    self._out(racer, str(error))
        return {name: values for name, values in rates.items() if name not in self.absent}

    def _out(self, racer: Racer, why: str) -> None:
        if isinstance(racer, Ours):
            raise Lost(f"{racer.name}: {why}")
        self.racers.remove(racer)
        self.absent[racer.name] = why


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """The median of the rounds' own ratios."""
    return median([mine / peer for mine, peer in zip(ours, theirs, strict=True)])
