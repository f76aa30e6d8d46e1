"""Puts a simulation together and lets it run: workers on machines, one store, and what came of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bench.simulation.costs import Costs
from bench.simulation.resources import Cores, Simulation
from bench.simulation.store import Store
from bench.simulation.workers import Claimer, Load, Worker
from bench.targets import quantile
from queuectl.config.settings import Settings

_BULK = 1000  # jobs that are enqueued together
_PLENTY, _PLENTY_EACH = 20_000, 4  # jobs that a figure is made of at most: in all, of each slot
_AHEAD = 10  # jobs for each slot that wait in the store at least
_FOREVER = 3600.0
_CLAIMERS_PATIENCE = 10.0  # seconds
_START = 0.005  # seconds within which processes set out that were started together


@dataclass(frozen=True)
class Site:
    """Machines, and what is on them. Without cores of its own, the store is on the machine of the workers."""

    machines: int
    workers: int  # processes on each machine
    slots: int = 1  # of each process
    cores: int = 16  # of each machine
    store_cores: int | None = None
    connections: int | None = None
    wire: float = 0.0  # seconds of a trip between machines


@dataclass(frozen=True)
class Figures:
    """What came of it. Shares are from 0 to 1."""

    jobs_per_second: float
    slots_busy: float
    cores_busy: float  # of the store's
    store_busy: float  # of what of the store was busiest
    busiest: str
    jobs_an_exchange: float
    wait: float  # seconds from the end of a command to the start of the next: the mean
    long_wait: float  # … and what 95 of 100 do not exceed


class Fleet:
    """One simulation."""

    def __init__(self, costs: Costs, site: Site, load: Load, *, seed: int = 0) -> None:
        self.sim = Simulation(seed)
        self.site = site
        self.load = load
        machines = [Cores(self.sim, site.cores) for _ in range(site.machines)]
        own = machines[0] if site.store_cores is None else Cores(self.sim, site.store_cores)
        self.store = Store(self.sim, costs, own, connections=site.connections, wire=site.wire)
        settings = Settings()
        self.workers = [
            Worker(self.sim, self.store, cores, slots=site.slots, load=load, settings=settings)
            for cores in machines
            for _ in range(site.workers)
        ]

    def finish(self, jobs: int) -> float:
        """Idle workers, and so many jobs all at once; the seconds until the last has ended."""
        for worker in self.workers:
            worker.begin()
        self.sim.run(until=2.0)  # all have looked and found nothing
        self.store.fill(jobs)
        self.store.notify(b"j")
        began = self.sim.time
        self.sim.run(until=_FOREVER, done=lambda: self.store.finished(jobs))
        assert len(self.store.done) == jobs, f"{len(self.store.done)} of {jobs} done"
        return self.sim.time - began

    def carry_on(self, *, settle: float, seconds: float) -> Figures:
        """Busy workers and never too few jobs: what they do in so many seconds, once it has settled."""
        self._supply()
        left = self._parts()
        for worker in self.workers:
            worker.begin([next(left) for _ in range(self.site.slots)])
        self._pass(settle)
        before, began = self._readings(), self.sim.time
        for worker in self.workers:
            worker.waits.clear()
        self._pass(seconds)
        changes = [new - old for new, old in zip(self._readings(), before, strict=True)]
        return self._figures(changes, self.sim.time - began)

    def _parts(self) -> Iterator[float]:
        """All that jobs in progress can have left to do, evenly, in any order."""
        slots = len(self.workers) * self.site.slots
        parts = [(place + 0.5) / slots for place in range(slots)]
        self.sim.random.shuffle(parts)
        return iter(parts)

    def _pass(self, seconds: float) -> None:
        """So many seconds; fewer if so much happens that no more is needed."""
        slots = len(self.workers) * self.site.slots
        enough = len(self.store.done) + max(_PLENTY, _PLENTY_EACH * slots)
        self.sim.run(until=self.sim.time + seconds, done=lambda: len(self.store.done) >= enough)

    def _supply(self) -> None:
        """Somebody enqueues, whenever little is left for all these slots."""
        while self.store.pending < _AHEAD * len(self.workers) * self.site.slots:
            self.store.enqueue(_BULK)
        self.sim.after(0.01, self._supply)

    @property
    def _processors(self) -> str:
        return "the machine's processors" if self.site.store_cores is None else "the server's processors"

    def _readings(self) -> list[float]:
        store = self.store
        return [len(store.done), store.exchanges, store.cores.busy, store.lock.busy, store.log.busy]

    def _figures(self, changes: list[float], seconds: float) -> Figures:
        done, exchanges, cores, lock, log = changes
        slots = len(self.workers) * self.site.slots
        shares = {
            self._processors: cores / seconds / self.store.cores.count,
            "the file's lock": lock / seconds,
            "the log": log / seconds,
        }
        busiest = max(shares, key=lambda name: shares[name])
        waits = [wait for worker in self.workers for wait in worker.waits]
        return Figures(
            jobs_per_second=done / seconds,
            slots_busy=min(done * self.load.seconds / seconds / slots, 1.0),
            cores_busy=min(shares[self._processors], 1.0),
            store_busy=min(shares[busiest], 1.0),
            busiest=busiest,
            jobs_an_exchange=done / exchanges if exchanges else 0.0,
            wait=sum(waits) / len(waits) if waits else 0.0,
            long_wait=quantile(waits, 0.95) if waits else 0.0,
        )


def claim_rate(costs: Costs, *, processes: int, count: int, batch: int, cores: int) -> float:
    """Jobs per second of processes that claim and finish and run nothing, on one machine with the store."""
    sim = Simulation()
    machine = Cores(sim, cores)
    store = Store(sim, costs, machine)
    store.fill(count)
    claimers = [
        Claimer(sim, store, machine, batch=batch, patience=_CLAIMERS_PATIENCE) for _ in range(processes)
    ]
    for claimer in claimers:
        sim.after(sim.random.uniform(0.0, _START), claimer.turn)
    sim.run(until=_FOREVER, done=lambda: all(claimer.over for claimer in claimers))
    assert len(store.done) == count, f"{len(store.done)} of {count} done"
    return count / sim.time
