"""What dealing with a store costs, as values: straight lines through what was measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Line:
    """Seconds: so many in any case, and so many for each."""

    fixed: float
    each: float = 0.0

    def at(self, count: float) -> float:
        return self.fixed + self.each * count


@dataclass(frozen=True)
class Work:
    """Seconds of processors: the worker's, and the server's (none if the store is a file)."""

    client: Line
    server: Line
    trips: float = 0.0  # to the server and back


@dataclass(frozen=True)
class Costs:
    """Of one engine, on the machine where they were measured."""

    engine: str
    exchange: Work  # by jobs: so many results in, so many jobs out
    background: (
        Line  # the server's seconds, later, for each exchange: nobody waits for it, but it has to be done
    )
    between: Line  # what the benchmark's claimers do from one to the next, by jobs
    beat: Work  # the renewal of a lease
    upkeep: Work  # what follows each renewal, by registered workers
    poll: Work  # a look whether anything has changed
    look: Work  # a look whether there is work
    enqueue: Work  # by jobs, of one transaction
    skip: float  # the server's seconds for each row that others are about to claim
    remains: float  # … and for each that was claimed since the oldest transaction began
    flush: Line  # until the disk has a commit, by its jobs
    trip: float  # seconds of a trip that no processor works
    start: float  # the worker's seconds for a command, beyond the exchange
    command: float  # seconds of processor that a command takes which does nothing: shell and `sleep`
    memory: float = 0.0  # megabytes that a server has for each connection, where it can be told

    @property
    def is_file(self) -> bool:
        return self.exchange.trips == 0


def fit(points: Mapping[int, Sequence[float]]) -> Line:
    """Least squares of what it is off in proportion, so that few count as much as many."""
    pairs = [(count, value) for count, values in points.items() for value in values if value > 0]
    if not pairs:
        return Line(0.0)
    weights = [1 / value**2 for _, value in pairs]
    total = sum(weights)
    across = sum(weight * count for weight, (count, _) in zip(weights, pairs, strict=True)) / total
    up = sum(weight * value for weight, (_, value) in zip(weights, pairs, strict=True)) / total
    spread = sum(weight * (count - across) ** 2 for weight, (count, _) in zip(weights, pairs, strict=True))
    if not spread:
        return Line(up)
    slope = sum(
        weight * (count - across) * (value - up)
        for weight, (count, value) in zip(weights, pairs, strict=True)
    )
    each = max(slope / spread, 0.0)  # nothing is cheaper than free
    return Line(max(up - each * across, 0.0), each)


def from_json(data: Mapping[str, object]) -> Costs:
    def revived(value: object) -> object:
        if not isinstance(value, dict):
            return value
        if "client" in value:
            return Work(Line(**value["client"]), Line(**value["server"]), value["trips"])
        return Line(**value)

    return Costs(**{name: revived(value) for name, value in data.items()})  # type: ignore[arg-type]  # JSON
