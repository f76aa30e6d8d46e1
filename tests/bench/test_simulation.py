"""The simulation where the answer is known beforehand: by arithmetic, or because nothing may be lost."""

from __future__ import annotations

from dataclasses import replace

import pytest
from bench.simulation.costs import Costs, Line, Work
from bench.simulation.model import Fleet, Site, claim_rate
from bench.simulation.workers import Load
from tests.bench.sample_costs import BUSY_FILE, BUSY_SERVER, FILE, SERVER

# --- one worker, nobody in its way: arithmetic -------------------------------------------------------------


def test_one_worker_on_a_file_takes_as_long_as_its_parts() -> None:
    seconds = Fleet(FILE, Site(machines=1, workers=1), Load(1.0)).finish(5)
    first = last = 0.0055  # nothing to hand in, or nothing to take
    assert seconds == pytest.approx(first + 5 * (0.01 + 0.02 + 1.0) + 4 * 0.006 + last)


def test_one_worker_on_a_server_takes_as_long_as_its_parts() -> None:
    seconds = Fleet(SERVER, Site(machines=1, workers=1), Load(1.0)).finish(5)
    first = last = 0.0055 + 0.00225 + 9 * 0.001
    told = 0.001  # how long it takes until it hears of the jobs
    between = 0.006 + 0.0025 + 9 * 0.001
    assert seconds == pytest.approx(told + first + 5 * (0.01 + 0.02 + 1.0) + 4 * between + last)


# --- too many: the narrowest place decides -----------------------------------------------------------------


def test_a_file_is_written_by_one_at_a_time() -> None:
    costs = replace(FILE, flush=Line(0.002))
    capacity = 100 / (0.005 + 100 * 0.001 + 0.002)
    rates = [
        claim_rate(costs, processes=processes, count=50_000, batch=100, cores=64) for processes in (1, 4, 64)
    ]
    assert rates[0] == pytest.approx(capacity, rel=0.01)
    # Whoever finds it locked sleeps, and may sleep on when it is free; but two are never in it.
    assert all(capacity / 2 < rate <= capacity for rate in rates[1:])


def test_a_server_does_what_its_processors_can() -> None:
    costs = replace(SERVER, exchange=Work(Line(0.0), Line(0.002, 0.0005), trips=9), trip=0.0)
    rate = claim_rate(costs, processes=64, count=64_000, batch=10, cores=4)
    assert rate == pytest.approx(4 * 10 / (0.002 + 10 * 0.0005), rel=0.02)


# --- always ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("costs", [BUSY_FILE, BUSY_SERVER], ids=["file", "server"])
@pytest.mark.parametrize(("workers", "slots"), [(1, 1), (7, 3)])
def test_every_job_is_done_once(costs: Costs, workers: int, slots: int) -> None:
    fleet = Fleet(costs, Site(machines=1, workers=workers, slots=slots, cores=2), Load(0.01, spread=0.5))
    fleet.finish(1000)
    assert fleet.store.done == set(range(1, 1001))
    assert fleet.store.pending == 0


def test_the_same_seed_gives_the_same_figures() -> None:
    def run(seed: int) -> object:
        fleet = Fleet(
            BUSY_SERVER, Site(machines=3, workers=10, store_cores=2), Load(0.05, spread=0.3), seed=seed
        )
        return fleet.carry_on(settle=0.5, seconds=2.0)

    assert run(1) == run(1)
    assert run(1) != run(2)
