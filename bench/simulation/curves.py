"""What the simulation says of fleets that no single machine holds: curves, limits, and what can be turned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from bench.simulation.costs import Costs, Line
from bench.simulation.model import Figures, Fleet, Site
from bench.simulation.workers import Load
from queuectl.config.settings import Settings

# What is assumed, because it cannot be measured here.
MACHINE_CORES = 16
STORE_CORES = 16
WORKERS_A_MACHINE = 10
WIRE = 0.0002  # seconds of a trip within a data centre
POOL = 100  # connections that PgBouncer keeps to the server

LENGTHS = {"10 ms": 0.01, "1 s": 1.0, "10 min": 600.0}
SIZES = (1, 10, 30, 100, 300, 1000, 3000, 10_000)
MOST_OF_A_FILE = 1000  # worker processes on its one machine
CARRIED = 0.9  # of what as many workers would do without each other
_SPREAD = 0.1
_ENOUGH = 30  # jobs that a figure is made of at least
_SETTLE, _WINDOW = 2.0, 3.0  # seconds
_CLOSE_ENOUGH = 1.3  # between the most workers that are carried and the fewest that are not


@dataclass(frozen=True)
class Point:
    workers: int
    machines: int
    figures: Figures
    hearts: float  # the share of the processors that all heartbeats would take

    @property
    def alive(self) -> bool:
        """Whether leases can be renewed at all."""
        return self.hearts < 1


def machines(workers: int, a_machine: int = WORKERS_A_MACHINE) -> int:
    return max(workers // a_machine, 1)


def site(costs: Costs, workers: int, *, slots: int = 1, a_machine: int = WORKERS_A_MACHINE) -> Site:
    """A file has one machine; a server one of its own, and workers on as many others as they need."""
    if costs.is_file:
        return Site(machines=1, workers=workers, slots=slots, cores=MACHINE_CORES)
    return Site(
        machines=machines(workers, a_machine),
        workers=workers // machines(workers, a_machine),
        slots=slots,
        cores=MACHINE_CORES,
        store_cores=STORE_CORES,
        wire=WIRE,
    )


def simulate(costs: Costs, where: Site, seconds: float) -> Figures:
    slots = where.machines * where.workers * where.slots
    # Long jobs end rarely: where there are few of them, it takes longer until there is a figure.
    window = max(_WINDOW, _ENOUGH * seconds / slots)
    return Fleet(costs, where, Load(seconds, _SPREAD)).carry_on(settle=_SETTLE, seconds=window)


def point(costs: Costs, workers: int, seconds: float) -> Point:
    where = site(costs, workers)
    return Point(workers, where.machines, simulate(costs, where, seconds), hearts(costs, where))


def hearts(costs: Costs, where: Site) -> float:
    """The share of the store's processors that the heartbeats of a fleet take; of a file's, its machine's."""
    fleet = where.machines * where.workers
    beat, upkeep = costs.beat, costs.upkeep
    seconds = beat.server.fixed + upkeep.server.at(fleet)
    if costs.is_file:
        seconds = beat.client.fixed + upkeep.client.at(fleet)
    return fleet * 1000 / Settings().worker_heartbeat_interval * seconds / (where.store_cores or where.cores)


def curve(costs: Costs, seconds: float, sizes: Sequence[int] = SIZES) -> list[Point]:
    return [
        point(costs, workers, seconds) for workers in sizes if not costs.is_file or workers <= MOST_OF_A_FILE
    ]


def carried(costs: Costs, seconds: float, points: Sequence[Point]) -> tuple[Point, Point | None]:
    """The most workers that hardly hinder each other, and the fewest found that do (None: nobody was)."""
    alone = points[0].figures.jobs_per_second / points[0].workers

    def good(one: Point) -> bool:
        return one.alive and one.figures.jobs_per_second >= CARRIED * alone * one.workers

    last, bad = points[0], None
    for one in points:
        if not good(one):
            bad = one
            break
        last = one
    while bad is not None and bad.workers > last.workers * _CLOSE_ENOUGH:
        middle = point(costs, _rounded((last.workers * bad.workers) ** 0.5), seconds)
        if middle.workers in (last.workers, bad.workers):
            break
        if good(middle):
            last = middle
        else:
            bad = middle
    return last, bad


def _rounded(workers: float) -> int:
    """Whole machines, where there are many."""
    whole = round(workers)
    return whole if whole < 2 * WORKERS_A_MACHINE else whole // WORKERS_A_MACHINE * WORKERS_A_MACHINE


class Way(NamedTuple):
    """One way to have ten thousand slots."""

    told: str
    costs: Costs | None  # None: not with this engine
    site: Site  # of one database
    databases: int = 1

    def point(self, seconds: float) -> Point | None:
        if self.costs is None:
            return None
        one = simulate(self.costs, self.site, seconds)
        figures = replace(one, jobs_per_second=one.jobs_per_second * self.databases)
        machines = self.site.machines * self.databases
        return Point(machines * self.site.workers, machines, figures, hearts(self.costs, self.site))


def ways(costs: Costs, pooled: Costs | None) -> list[Way]:
    """`pooled`: as it is through a pool of connections, if the engine can be used so."""
    many = site(costs, 10_000)
    few = site(costs, 1000, slots=10, a_machine=1)
    tenth = site(costs, 100, slots=10, a_machine=1)
    pool = f"… and a pool of {POOL} connections"
    return [
        Way("10 workers of 1 slot on each machine", costs, many),
        Way(pool, pooled, replace(many, connections=POOL)),
        Way("1 worker of 10 slots on each machine", costs, few),
        Way(pool, pooled, replace(few, connections=POOL)),
        Way("… and ten databases, each for a tenth of the machines", costs, tenth, databases=10),
        Way("10 workers of 1 slot, if hearts did not read the list of all workers", _blind(costs), many),
    ]


def _blind(costs: Costs) -> Costs:
    upkeep = costs.upkeep
    return replace(
        costs,
        upkeep=replace(upkeep, client=Line(upkeep.client.fixed), server=Line(upkeep.server.fixed)),
    )
