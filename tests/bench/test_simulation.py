"""The simulation where the answer is known beforehand: by arithmetic, or because nothing may be lost."""

from __future__ import annotations

from dataclasses import replace

import pytest
from bench.simulation.costs import Costs, Line, Work
from bench.simulation.model import Fleet, Site, claim_rate
from bench.simulation.resources import Cores, FileLock, Log, Places, Simulation, Thread
from bench.simulation.workers import Load
from tests.bench.sample_costs import BUSY_FILE, BUSY_SERVER, FILE, NOTHING, SERVER

from queuectl.store.tallies import SHARDS

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


def test_a_wire_makes_each_trip_longer() -> None:
    here = Fleet(SERVER, Site(machines=1, workers=1), Load(1.0)).finish(1)
    there = Fleet(SERVER, Site(machines=1, workers=1, wire=0.01), Load(1.0)).finish(1)
    assert there - here == pytest.approx(0.01 * (1 + 9 + 9))  # the news, the claim, the result


def test_workers_that_share_nothing_do_as_much_more_as_there_are() -> None:
    free = replace(SERVER, exchange=replace(NOTHING, trips=1), trip=0.0, start=0.0, command=0.0)
    one = Fleet(free, Site(machines=1, workers=1, cores=8), Load(1.0)).finish(10)
    eight = Fleet(free, Site(machines=2, workers=4, cores=8), Load(1.0)).finish(80)
    assert one == pytest.approx(10.0)
    assert eight == pytest.approx(one)


def test_slots_of_one_worker_run_at_once() -> None:
    free = replace(FILE, exchange=NOTHING, start=0.0, command=0.0)
    assert Fleet(free, Site(machines=1, workers=1, slots=10), Load(1.0)).finish(30) == pytest.approx(3.0)


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


@pytest.mark.parametrize(("processes", "at_once"), [(4, 4), (SHARDS, SHARDS), (3 * SHARDS, SHARDS)])
def test_commits_share_a_flush_unless_they_write_the_same_counts(processes: int, at_once: int) -> None:
    """While one half is flushed, the other comes back with more."""
    costs = replace(SERVER, exchange=replace(NOTHING, trips=1), trip=0.0, flush=Line(0.01))
    rate = claim_rate(costs, processes=processes, count=9600, batch=10, cores=4)
    assert rate == pytest.approx(at_once / 2 * 10 / 0.01, rel=0.06)


def test_a_pool_lets_only_so_many_through() -> None:
    costs = replace(SERVER, exchange=Work(Line(0.0), Line(0.0), trips=100), start=0.0, command=0.0)
    direct = Site(machines=1, workers=16, store_cores=4)
    pooled = replace(direct, connections=2)
    # Each job takes one trip of a tenth of a second to the store, where it may, and no time of its own.
    assert Fleet(costs, pooled, Load(1e-9)).finish(160) > 4 * Fleet(costs, direct, Load(1e-9)).finish(160)


def test_who_claims_skips_what_others_are_claiming() -> None:
    free = claim_rate(BUSY_SERVER, processes=16, count=16_000, batch=100, cores=2)
    crowded = claim_rate(replace(BUSY_SERVER, skip=0.00002), processes=16, count=16_000, batch=100, cores=2)
    assert crowded < free / 2


def test_the_upkeep_of_all_hearts_grows_with_the_square_of_the_fleet() -> None:
    costs = replace(BUSY_SERVER, upkeep=Work(Line(0.0), Line(0.0, 0.00001)), beat=NOTHING, poll=NOTHING)
    busy = [
        Fleet(costs, Site(machines=fleet, workers=1, store_cores=64), Load(600.0)).carry_on(
            settle=5.0, seconds=20.0
        )
        for fleet in (100, 200)
    ]
    # Every five seconds each of 200 reads 200 rows: 8,000 rows a second.
    assert busy[1].cores_busy * 64 == pytest.approx(0.00001 * 200 * 200 / 5, rel=0.1)
    assert busy[1].cores_busy / busy[0].cores_busy == pytest.approx(4, rel=0.1)


# --- always ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("costs", [BUSY_FILE, BUSY_SERVER], ids=["file", "server"])
@pytest.mark.parametrize(("workers", "slots"), [(1, 1), (7, 3), (40, 1)])
def test_every_job_is_done_once(costs: Costs, workers: int, slots: int) -> None:
    fleet = Fleet(costs, Site(machines=1, workers=workers, slots=slots, cores=2), Load(0.01, spread=0.5))
    fleet.finish(1000)
    assert fleet.store.done == set(range(1, 1001))
    assert fleet.store.pending == 0


class OneLong(Load):
    """Jobs are short, but one of them is long."""

    def draw(self, sim: Simulation) -> float:
        return 30.0 if sim.random.random() < 0.01 else self.seconds


def test_what_was_claimed_ahead_of_a_long_job_is_done_by_others() -> None:
    fleet = Fleet(BUSY_SERVER, Site(machines=1, workers=8, cores=8), OneLong(0.005))
    for worker in fleet.workers:
        worker.begin()
    fleet.store.fill(300)
    fleet.sim.run(until=10.0)
    left = 300 - len(fleet.store.done)
    assert 0 < left < 8  # those that run for long, and none that waits behind one
    assert fleet.store.pending == 0
    fleet.sim.run(until=60.0)
    assert fleet.store.done == set(range(1, 301))


def test_the_same_seed_gives_the_same_figures() -> None:
    def run(seed: int) -> object:
        fleet = Fleet(
            BUSY_SERVER, Site(machines=3, workers=10, store_cores=2), Load(0.05, spread=0.3), seed=seed
        )
        return fleet.carry_on(settle=0.5, seconds=2.0)

    assert run(1) == run(1)
    assert run(1) != run(2)


def test_long_jobs_end_as_often_as_there_are_slots_for_them() -> None:
    figures = Fleet(BUSY_SERVER, Site(machines=30, workers=10), Load(600.0, spread=0.1)).carry_on(
        settle=10.0, seconds=400.0
    )
    assert figures.jobs_per_second == pytest.approx(300 / 600, rel=0.05)
    assert figures.slots_busy == pytest.approx(1.0, rel=0.05)


# --- parts -------------------------------------------------------------------------------------------------


def test_processors_are_shared_in_the_order_in_which_they_are_wanted() -> None:
    sim = Simulation()
    cores = Cores(sim, 2)
    ends: list[float] = []
    for _ in range(4):
        cores.run(0.001, lambda: ends.append(sim.time))
    sim.run(until=1.0)
    assert ends == pytest.approx([0.001, 0.001, 0.002, 0.002])
    assert cores.busy == pytest.approx(0.004)


def test_long_work_lets_short_work_pass() -> None:
    sim = Simulation()
    cores = Cores(sim, 1)
    ends: dict[str, float] = {}
    cores.run(1.0, lambda: ends.update(long=sim.time))
    cores.run(0.001, lambda: ends.update(short=sim.time))
    sim.run(until=2.0)
    assert ends["short"] < 0.5
    assert ends["long"] == pytest.approx(1.001)


def test_threads_of_one_process_take_turns_though_there_are_processors() -> None:
    sim = Simulation()
    thread = Thread(sim, Cores(sim, 4))
    ends: list[float] = []
    for _ in range(3):
        thread.run(0.001, lambda: ends.append(sim.time))
    sim.run(until=1.0)
    assert ends == pytest.approx([0.001, 0.002, 0.003])


def test_who_finds_the_file_locked_comes_again_and_gives_up_in_the_end() -> None:
    sim = Simulation()
    lock = FileLock(sim)
    lock.enter(0.0, lambda: None, lambda: None)
    times: dict[str, float] = {}
    lock.enter(0.1, lambda: times.update(entered=sim.time), lambda: None)
    lock.enter(0.02, lambda: None, lambda: times.update(gave_up=sim.time))
    sim.at(0.03, lock.leave)
    sim.run(until=1.0)
    assert times["gave_up"] == pytest.approx(0.02)
    assert times["entered"] == pytest.approx(0.001 + 0.002 + 0.005 + 0.010 + 0.015)


def test_commits_that_come_during_a_flush_share_the_next() -> None:
    sim = Simulation()
    log = Log(sim, Line(0.01))
    ends: list[float] = []
    for at in (0.0, 0.004, 0.006):
        sim.at(at, lambda: log.flush(0, lambda: ends.append(sim.time)))
    sim.run(until=1.0)
    assert ends == pytest.approx([0.01, 0.02, 0.02])
    assert log.busy == pytest.approx(0.02)


def test_places_are_given_in_the_order_of_the_line() -> None:
    sim = Simulation()
    places = Places(sim, 1)
    order: list[int] = []
    for number in range(3):
        places.enter(lambda number=number: order.append(number))  # type: ignore[misc]
    assert order == [0]
    places.leave()
    places.leave()
    sim.run(until=1.0)
    assert order == [0, 1, 2]
