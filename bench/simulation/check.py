"""The simulation beside real runs, at the sizes that fit on one machine: how far it is off."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from bench import claimers
from bench.places import MARIADB, POSTGRES, SQLITE, Place, fresh_place
from bench.simulation.costs import Costs
from bench.simulation.model import Fleet, Site, claim_rate
from bench.simulation.workers import Load
from bench.table import median

PROCESSES = (1, 4, 16, 64)
_CONNECTIONS = {POSTGRES: "SHOW max_connections", MARIADB: "SELECT @@max_connections"}
_SPARE = 10  # connections: ours, the server's own, other people's


class Trial(NamedTuple):
    """Workers that run commands, or, with a batch, processes that claim and finish and run nothing."""

    processes: int
    jobs: int
    batch: int = 0
    slots: int = 1
    seconds: float = 0.0  # that a command waits

    @property
    def told(self) -> str:
        more = "" if self.processes == 1 else "es" if self.batch else "s"
        if self.batch:
            return f"claim + finish, batches of {self.batch}, {self.processes} process{more}"
        slots = f" with {self.slots} slots" if self.slots > 1 else ""
        return f"`sleep {self.seconds:g}`, {self.processes} worker{more}{slots}"

    @property
    def connections(self) -> int:
        return self.processes * (1 if self.batch else 2)


@dataclass
class Outcome:
    """Jobs per second, of each real round and of the simulation."""

    engine: str
    trial: Trial
    simulated: float
    real: list[float] = field(default_factory=list)

    @property
    def off(self) -> float:
        """By how much the simulation promises too much (above 0) or too little; a share of what is real."""
        return self.simulated / median(self.real) - 1


def trials(*, quick: bool) -> list[Trial]:
    sizes = (1, 16) if quick else PROCESSES
    return [
        *(Trial(processes, jobs=10_000, batch=100) for processes in sizes),
        *(Trial(processes, jobs=1_000, batch=1) for processes in sizes),
        *(Trial(processes, jobs=min(200 * processes, 2_000), seconds=0.01) for processes in sizes),
        *(Trial(max(sizes), jobs=max(sizes) * 5 * slots, slots=slots, seconds=1.0) for slots in (1, 8)),
    ]


def compare(
    costs: Costs, servers: Mapping[str, str], chosen: Sequence[Trial], *, rounds: int
) -> tuple[list[Outcome], list[str]]:
    """What was tried, and what could not be."""
    cores = os.cpu_count() or 1
    outcomes, left_out = [], []
    for trial in chosen:
        room = _room(costs.engine, servers)
        if trial.connections > room:
            left_out.append(
                f"{costs.engine}, {trial.told} (needs {trial.connections} connections, there are {room})"
            )
            continue
        outcomes.append(Outcome(costs.engine, trial, simulated(costs, trial, cores=cores)))
    for _ in range(rounds):
        for outcome in outcomes:
            outcome.real.append(_real(costs.engine, servers, outcome.trial))
    return outcomes, left_out


def _room(engine: str, servers: Mapping[str, str]) -> int:
    """Connections that a server has for us."""
    if engine == SQLITE:
        return max(PROCESSES) * 2
    with fresh_place(engine, servers) as place, place.queue() as queue:
        db: Any = queue.store.connection
        return int(db.one(_CONNECTIONS[engine])[0]) - _SPARE


def simulated(costs: Costs, trial: Trial, *, cores: int) -> float:
    if trial.batch:
        return claim_rate(costs, processes=trial.processes, count=trial.jobs, batch=trial.batch, cores=cores)
    site = Site(machines=1, workers=trial.processes, slots=trial.slots, cores=cores)
    return trial.jobs / Fleet(costs, site, Load(trial.seconds)).finish(trial.jobs)


def _real(engine: str, servers: Mapping[str, str], trial: Trial) -> float:
    with fresh_place(engine, servers) as place:
        if trial.batch:
            return claimers.rate(place, processes=trial.processes, count=trial.jobs, batch=trial.batch)
        return _commands(place, trial)


def _commands(place: Place, trial: Trial) -> float:
    """All at once, for workers that wait for them; from the first start to the last stored result."""
    with place.workers(count=trial.processes, concurrency=trial.slots), place.queue() as queue:
        queue.enqueue_many([f"sleep {trial.seconds:g}"] * trial.jobs)
        queue.wait(filter=None)
        db: Any = queue.store.connection
        began, ended = db.one("SELECT min(started_at), max(updated_at) FROM jobs")
        done = queue.stats().counts["completed"]
    assert done == trial.jobs, f"{done} of {trial.jobs} completed"
    return float(trial.jobs / ((ended - began) / 1000))
